"""The wording of what a party reads: its opening, what it alone knows, what it is to do, what a check says.

Nothing is known here: whatever is put into words comes from `pipeline.knowledge.known`.

    maieutic preview configs/quickstart.yaml     # prints both sides of one dialogue per condition
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.schema import Party, Task, Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import Known, known, printed, verdict
from pipeline.reading.programs import fenced

DISCLOSURE = {
    "on_request": "Tell what only you know when you are asked for it, and no more than that.",
    "volunteer": "Tell one thing that only you know in each of your turns, asked or not.",
}
KEEP_ANSWER = "Do not say the answer."
SAY_WHERE = "Say so when an answer is not right."
SCRIPT = "Write the whole talk, one turn a line, as Student: and Partner:."
CHECK = "(A check says that"


def opening(task: Task, condition: Condition, party: Party) -> str:
    """What a party reads before the first turn."""
    knows = known(task, condition, party)
    other = condition.label if party == "student" else {"teacher": "student"}.get(condition.label, condition.label)
    lines = [*(task.memories if party == "student" else ()), knows.question]
    if party == "partner":
        lines += private_lines(knows, condition, "you")
    elif condition.row.student_reads_partner:
        lines += private_lines(known(task, condition, "partner"), condition, "they")
    lines.append(f"Work it out with your {other}.")
    return "\n".join(lines)


def script_opening(task: Task, condition: Condition) -> str:
    """What the writer of both sides reads."""
    knows = known(task, condition, "partner")
    return "\n".join([knows.question, *private_lines(knows, condition, "you"), SCRIPT])


def private_lines(knows: Known, condition: Condition, owner: str) -> list[str]:
    """What its `owner` ("you" or "they") alone knows, and what "you" is to do with it."""
    lines = []
    if knows.private:
        lines.append(f"Only {owner} know: " + " ".join(fact.text for fact in knows.private))
    if knows.solution:
        lines.append(f"Worked solution: {knows.solution}")
    if knows.answer:
        lines.append(f"Only {owner} know: the answer is {_written(knows)}.")
    if knows.where:
        lines.append(f"Only {owner} know: {_found(knows)}")
    if owner == "you" and knows.where:
        lines.append(SAY_WHERE)
    if owner == "you" and (knows.private or knows.answer):
        lines.append(DISCLOSURE.get(condition.disclosure, ""))
        if knows.answer and not condition.reveal and not knows.believes_false_key:
            lines.append(KEEP_ANSWER)
    return lines


def _found(knows: Known) -> str:
    """What was found wrong with the first solution, as far as it is known."""
    where = f"The first solution first goes wrong in step {knows.where}."
    return f"{where} What is wrong there: {knows.what}" if knows.what else where


def check_note(right: bool, tests: str) -> str:
    """The note behind an attempt, for a partner that is told verdicts; `tests` is what they printed."""
    return f"{CHECK} this is {'right' if right else 'wrong'}.{tests and ' ' + tests})"


def privileged(task: Task, condition: Condition, turns: Sequence[Turn]) -> str:
    """What the partner knows after these turns and the student does not, in words; '' where that is nothing."""
    own, theirs = known(task, condition, "student"), known(task, condition, "partner")
    lines = [fact.text for fact in theirs.facts if fact not in own.facts]
    if theirs.solution:
        lines.append(f"Worked solution: {theirs.solution}")
    if theirs.answer:
        lines.append(f"The answer is {_written(theirs)}.")
    if theirs.where:
        lines.append(_found(theirs))
    checked = [i for i, turn in enumerate(turns) if turn.party == "student"][-1:]
    right = verdict(task, condition, turns[: checked[0] + 1]) if checked else None
    if right is not None:
        lines.append(f"The last answer is {'right' if right else 'wrong'}.")
        lines += filter(None, [printed(task, condition, turns[: checked[0] + 1])])
    return "\n".join(lines)


def _written(knows: Known) -> str:
    return f"this program:\n{fenced(knows.answer)}\n" if knows.entry else knows.answer

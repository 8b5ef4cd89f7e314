"""What goes into the templates that a party is prompted with, and the names of those.

Nothing is known here: whatever is told comes from `pipeline.knowledge.known`, and the words are those of the templates
(pipeline/prompts/templates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.core.schema import Party, Task, Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import Known, known, printed, verdict
from pipeline.prompts.prompts import Briefing, Prompts
from pipeline.reading.programs import fenced


def templates(condition: Condition, party: Party) -> tuple[str, ...]:
    """Where a party's briefing stands: the first of these that is there.

    A student has one for all conditions, whose words may depend on nothing but what it knows.
    """
    return ("student",) if party == "student" else (f"partner/{condition.partition}", "partner")


def briefing(task: Task, condition: Condition, party: Party, prompts: Prompts) -> Briefing:
    """What a party reads before the first turn."""
    told = _to_student(task, condition) if party == "student" else _to_partner(task, condition)
    return prompts.brief(templates(condition, party), told)


def script_briefing(task: Task, condition: Condition, prompts: Prompts) -> Briefing:
    """What the writer of both sides reads."""
    return prompts.brief(("script",), _to_partner(task, condition))


def shapes(condition: Condition, student: Prompts, partner: Prompts) -> list[str]:
    """Hashes of the templates that shape a condition's dialogues, and of no others."""
    if condition.row.one_writer:
        return [partner.shapes("script")]
    used = [student.shapes("student")]
    if condition.voice == "model":
        used += [partner.shapes(*templates(condition, "partner"))]
        used += [partner.shapes("notice")] if condition.row.tells_verdicts else []
        used += [partner.shapes("question")] if condition.method == "q_priming" else []
    return used


def student_system(prompts: Prompts) -> str:
    """The student's system message where it is asked about no task."""
    return prompts.brief(("no_task",), {}).system


def check_note(condition: Condition, right: bool, tests: str, entry: str, prompts: Prompts) -> str:
    """The note behind an attempt, for a partner that is told verdicts; `tests` is what they printed."""
    told = {"right": right, "printed": tests, "entry": entry, "other": _other(condition)}
    return prompts.text("notice", told)


def question_request(condition: Condition, prompts: Prompts) -> str:
    """What the writer of a question that takes an attempt's place is asked for (pipeline/dialogue/q_priming.py)."""
    return prompts.text("question", {"other": _other(condition)})


def _to_student(task: Task, condition: Condition) -> dict[str, Any]:
    knows = known(task, condition, "student")
    reads = known(task, condition, "partner") if condition.row.student_reads_partner else Known("", ())
    question = " ".join([knows.question, *(fact.text for fact in knows.private)])
    return _told(reads, condition.label) | {"question": question, "entry": knows.entry, "memories": task.memories}


def _to_partner(task: Task, condition: Condition) -> dict[str, Any]:
    knows = known(task, condition, "partner")
    return _told(knows, _other(condition)) | {
        "you": condition.label,
        "verdicts": knows.verdicts,
        "share": knows.share,
        "believes_key": knows.believes_key,
        "disclosure": condition.disclosure,
        "reveal": condition.reveal,
        "both_know": condition.row.student_reads_partner,
    }


def _told(knows: Known, other: str) -> dict[str, Any]:
    """What stands in the templates of either party; of what is not known, '' or ()."""
    return {
        "question": knows.question,
        "entry": knows.entry,
        "other": other,
        "facts": tuple(fact.text for fact in knows.private),
        "solution": knows.solution,
        "answer": knows.answer,
        "program": fenced(knows.answer) if knows.entry and knows.answer else "",
        "where": knows.where,
        "what": knows.what,
    }


def _other(condition: Condition) -> str:
    """What the partner calls the student."""
    return {"teacher": "student"}.get(condition.label, condition.label)


def privileged(task: Task, condition: Condition, turns: Sequence[Turn]) -> str:
    """What the partner knows after these turns and the student does not, in words; '' where that is nothing."""
    own, theirs = known(task, condition, "student"), known(task, condition, "partner")
    lines = [fact.text for fact in theirs.facts if fact not in own.facts]
    if theirs.solution:
        lines.append(f"Worked solution: {theirs.solution}")
    if theirs.answer:
        program = f"this program:\n{fenced(theirs.answer)}\n" if theirs.entry else ""
        lines.append(f"The answer is {program or theirs.answer}.")
    if theirs.where:
        lines.append(f"The first solution first goes wrong in step {theirs.where}.")
        lines[-1] += f" What is wrong there: {theirs.what}" if theirs.what else ""
    checked = [i for i, turn in enumerate(turns) if turn.party == "student"][-1:]
    right = verdict(task, condition, turns[: checked[0] + 1]) if checked else None
    if right is not None:
        lines.append(f"The last answer is {'right' if right else 'wrong'}.")
        lines += filter(None, [printed(task, condition, turns[: checked[0] + 1])])
    return "\n".join(lines)

"""What one party knows, and what it can see as chat messages.

`known` is the only function that reads a task's private facts, and `view` shows a model nothing but
what `known` returns and the text of the turns. Generation, training rows and exams all pass through
here, so the tests over these two functions cover them all. Views are append-only: the view after a
turn starts with the view before it, and prefix caches stay warm.

    maieutic preview configs/quickstart.yaml     # prints both views of one dialogue per condition
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.schema import Fact, Message, Party, Task, Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import (
    ANSWER,
    ITEMS,
    SHARE,
    SOLUTION,
    VERDICT,
    WHAT,
    WHERE,
    WRONG_KEY,
)
from pipeline.reading.correctness import is_right
from pipeline.reading.programs import fenced

DISCLOSURE = {
    "on_request": "Tell what only you know when you are asked for it, and no more than that.",
    "volunteer": "Tell one thing that only you know in each of your turns, asked or not.",
}
KEEP_ANSWER = "Do not say the answer."
SAY_WHERE = "Say so when an answer is not right."
SCRIPT = "Write the whole talk, one turn a line, as Student: and Partner:."


@dataclass(frozen=True)
class Known:
    """What one party knows: its row of the partition applied to a task."""

    question: str
    facts: tuple[Fact, ...]  # public ones first
    private: tuple[Fact, ...] = ()
    answer: str = ""  # what it believes the answer to be; false under `misled`
    believes_false_key: bool = False
    solution: str = ""
    verdicts: bool = False  # it is told whether an attempt is right
    share: bool = False  # its facts are its share of the question
    where: int = 0  # the first wrong step of the first solution; 0: it does not know
    what: str = ""  # what is wrong there
    entry: str = ""  # the function that the question asks for; then `answer` is a program


def known(task: Task, condition: Condition, party: Party) -> Known:
    """Apply the party's row to the task."""
    row = condition.row.student if party == "student" else (condition.row.partner or frozenset())
    question, public = task.question, tuple(fact for fact in task.facts if fact.public)
    if SHARE in row:
        question, public = _share(task, party), _share_facts(task, party)
    private = {fact.id: fact for item in ITEMS if item in row and item.facts for fact in item.facts(task)}
    return Known(
        question=question,
        facts=(*public, *private.values()),
        private=tuple(private.values()),
        answer=task.answer if ANSWER in row else task.wrong_answer if WRONG_KEY in row else "",
        believes_false_key=WRONG_KEY in row,
        solution=task.solution if SOLUTION in row else "",
        verdicts=VERDICT in row,
        share=SHARE in row,
        where=task.draft.where if task.draft and WHERE in row else 0,
        what=task.draft.what if task.draft and WHAT in row else "",
        entry=task.entry,
    )


def verdict(task: Task, condition: Condition, turns: Sequence[Turn]) -> bool | None:
    """Whether the student's latest turn, where it is an attempt, is right; None where nobody is told."""
    if not known(task, condition, "partner").verdicts or not turns or turns[-1].party != "student":
        return None
    return is_right(task, turns[-1])


def compared(task: Task, condition: Condition, turns: Sequence[Turn]) -> bool | None:
    """The verdict, and what a rule partner finds out that holds the reference program: whether another one does the
    same. Numbers it compares itself."""
    knows = known(task, condition, "partner")
    if not (knows.entry and knows.answer) or knows.believes_false_key or not turns or turns[-1].party != "student":
        return verdict(task, condition, turns)
    return is_right(task, turns[-1])


def printed(task: Task, condition: Condition, turns: Sequence[Turn]) -> str:
    """What the tests printed of the program in the student's latest turn, for a partner that is told verdicts: public
    calls alone. '' where there is none, and in tasks whose answer is no program."""
    check = None if verdict(task, condition, turns) is None else turns[-1].check
    return check.printed if check else ""


def _share_facts(task: Task, party: Party) -> tuple[Fact, ...]:
    return tuple(fact for i, fact in enumerate(task.facts) if i % 2 == (0 if party == "student" else 1))


def _share(task: Task, party: Party) -> str:
    ask = re.split(r"(?<=[.!?])\s+", task.full_question.strip())[-1]
    return " ".join([fact.text for fact in _share_facts(task, party)] + [ask])


def _private_lines(knows: Known, condition: Condition, owner: str) -> list[str]:
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


def script_view(task: Task, condition: Condition, system: str = "") -> list[Message]:
    """What the one model reads that writes both sides (Zhou et al., arXiv 2403.05020)."""
    knows = known(task, condition, "partner")
    lines = [knows.question, *_private_lines(knows, condition, "you"), SCRIPT]
    messages = [{"role": "system", "content": system}] if system else []
    return [*messages, {"role": "user", "content": "\n".join(lines)}]


def _opening(task: Task, condition: Condition, party: Party) -> str:
    knows = known(task, condition, party)
    other = condition.label if party == "student" else {"teacher": "student"}.get(condition.label, condition.label)
    lines = [*(task.memories if party == "student" else ()), knows.question]
    if party == "partner":
        lines += _private_lines(knows, condition, "you")
    elif condition.row.student_reads_partner:
        lines += _private_lines(known(task, condition, "partner"), condition, "they")
    lines.append(f"Work it out with your {other}.")
    return "\n".join(lines)


def view(task: Task, condition: Condition, turns: Sequence[Turn], party: Party, system: str = "") -> list[Message]:
    """The dialogue as `party` sees it: its own turns are `assistant`, the other's are `user`.

    The partner's first message joins its opening and the student's first turn, so that roles alternate.
    """
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": _opening(task, condition, party)})
    for i, turn in enumerate(turns):
        text = turn.text
        if party == "partner" and turn.party == "student":
            right = verdict(task, condition, turns[: i + 1])
            if right is not None:
                tests = printed(task, condition, turns[: i + 1])
                text += f"\n(A check says that this is {'right' if right else 'wrong'}.{tests and ' ' + tests})"
        if turn.party == party:
            messages.append({"role": "assistant", "content": text})
        elif messages[-1]["role"] == "user":
            messages[-1] = {"role": "user", "content": messages[-1]["content"] + "\n\n" + text}
        else:
            messages.append({"role": "user", "content": text})
    return messages


def probe(messages: list[Message], question: str) -> list[Message]:
    """A view with a private question at its end, for a belief that never enters the transcript."""
    if messages[-1]["role"] == "user":
        return [*messages[:-1], {"role": "user", "content": messages[-1]["content"] + "\n\n" + question}]
    return [*messages, {"role": "user", "content": question}]

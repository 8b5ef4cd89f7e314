"""Who knows what: a party's row of the partition, applied to a task.

`known` is the only function that reads a task's private facts. How what it returns is put into words is said in
`pipeline.knowledge.briefing`, and `pipeline.knowledge.view` shows it to models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.schema import Choice, Fact, Party, Task, Turn, digest
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import (
    ANSWER,
    BELIEF,
    SHARE,
    SOLUTION,
    WHAT,
    WHERE,
    WRONG_KEY,
    Items,
    in_order,
)
from pipeline.reading.protocol import TurnToRead, asks_for_a_number
from pipeline.reading.sentences import sentences
from pipeline.reading.stored import heard_right


@dataclass(frozen=True)
class Known:
    """What one party knows: its row of the partition applied to a task."""

    question: str
    facts: tuple[Fact, ...]  # public ones first
    private: tuple[Fact, ...] = ()
    answer: str = ""  # what it believes the answer to be; false under `misled`, in half of the tasks under `fallible`
    believes_key: bool = False  # it is sure of that answer, whether or not it is right
    solution: str = ""
    verdicts: bool = False  # it is told whether an attempt is right
    share: bool = False  # its facts are its share of the question
    where: int = 0  # the first wrong step of the first solution; 0: it does not know
    what: str = ""  # what is wrong there
    entry: str = ""  # the function that the question asks for; then `answer` is a program
    choice: Choice | None = None  # the options that the question names
    hints: tuple[str, ...] = ()  # steps of the worked solution that do not say the answer, where there are options

    @property
    def own(self) -> tuple[Fact, ...]:
        """What the other party may not know: its share, where the problem is dealt."""
        return self.facts if self.share else self.private


def known(task: Task, condition: Condition, party: Party) -> Known:
    """Apply the party's row to the task."""
    row = condition.row.items(party)
    question, public = task.question, tuple(fact for fact in task.facts if fact.public)
    if SHARE in row:
        question, public = _share(task, party), _share_facts(task, party)
    private = {fact.id: fact for item in in_order(row) if item.facts for fact in item.facts(task)}
    return Known(
        question=question,
        facts=(*public, *private.values()),
        private=tuple(private.values()),
        answer=_answer(task, row),
        believes_key=party == "partner" and condition.row.believes_key,
        solution=task.solution if SOLUTION in row else "",
        verdicts=party == "partner" and condition.row.tells_verdicts,
        share=SHARE in row,
        where=task.draft.where if task.draft and WHERE in row else 0,
        what=task.draft.what if task.draft and WHAT in row else "",
        entry=task.entry,
        choice=task.choice,
        hints=_hints(task) if SOLUTION in row and task.choice and task.steps else (),
    )


def _answer(task: Task, row: Items) -> str:
    """What its holder takes for the answer; '' where it has none. By the question, which both read, and not by the
    task's id: what a party is shown depends on nothing else than what it knows."""
    if BELIEF in row:
        return task.answer if int(digest("belief", task.question), 16) % 2 else task.wrong_answer
    return task.answer if ANSWER in row else task.wrong_answer if WRONG_KEY in row else ""


def verdict(task: Task, condition: Condition, turns: Sequence[Turn]) -> bool | None:
    """Whether the student's latest turn, where it is an attempt, is right; None where nobody is told."""
    if not condition.row.tells_verdicts or not turns or turns[-1].party != "student":
        return None
    return heard_right(task, turns[-1])


def compared(task: Task, condition: Condition, turns: Sequence[Turn]) -> bool | None:
    """The verdict, and what a rule partner finds out that holds the reference program: whether another one does the
    same. Numbers it compares itself."""
    if not task.entry or not turns or turns[-1].party != "student":
        return verdict(task, condition, turns)
    knows = known(task, condition, "partner")
    if not knows.answer or knows.believes_key:
        return verdict(task, condition, turns)
    return heard_right(task, turns[-1])


def printed(task: Task, condition: Condition, turns: Sequence[Turn]) -> str:
    """What the tests printed of the program in the student's latest turn, for a partner that is told verdicts: public
    calls alone. '' where there is none, and in tasks whose answer is no program."""
    check = None if verdict(task, condition, turns) is None else turns[-1].check
    return check.printed if check else ""


def hearing(task: Task, condition: Condition, turns: Sequence[Turn], i: int) -> TurnToRead:
    """The turn number `i` as the other party reads it, which knows no more than its row."""
    knows = known(task, condition, "partner" if turns[i].party == "student" else "student")
    return TurnToRead(
        party=turns[i].party,
        text=turns[i].sure_text,
        question=knows.question,
        facts=knows.facts,
        before=tuple(turns[:i]),
        entry=knows.entry,
        choice=knows.choice,
        numeric=asks_for_a_number(task),
    )


def _hints(task: Task) -> tuple[str, ...]:
    """The steps, the last one without what it comes to."""
    *first, last = (step.text for step in task.steps)
    return (*first, sentences(last)[0])


def _share_facts(task: Task, party: Party) -> tuple[Fact, ...]:
    return tuple(fact for i, fact in enumerate(task.facts) if i % 2 == (0 if party == "student" else 1))


def _share(task: Task, party: Party) -> str:
    ask = re.split(r"(?<=[.!?])\s+", task.full_question.strip())[-1]
    return " ".join([fact.text for fact in _share_facts(task, party)] + [ask])

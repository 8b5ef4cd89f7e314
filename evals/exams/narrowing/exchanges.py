"""What each exchange of a dialogue does to the options that are left: a student's turn, and what it gets for it.

An option is left while nothing that the student was told rules it out: its own facts, facts that the partner tells, yes
or no to a closed question, the verdict on an option that was tried. What the student could have concluded counts,
whether it did or not. A partner that says what is not so is taken at its word; where that leaves nothing, it is not
heard.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Fact, Task, Turn
from pipeline.reading.numbers.equality import equal
from pipeline.reading.stored import partner_reading, student_reading

Option = tuple[str, ...]
Left = frozenset[Option]


class Exchange(NamedTuple):
    """One turn of the student's and the partner's next one, None where there is none. `before`, `after`: what is left
    of the options."""

    does: StudentReading
    says: PartnerReading | None
    before: Left
    after: Left

    @property
    def question(self) -> tuple[frozenset[str], frozenset[str]] | None:
        """What it asks for, and to have confirmed; None where it asks neither, or puts an option forward."""
        does = self.does
        asks = (does.asks, does.whether)
        return asks if does.attempt is None and any(asks) else None

    @property
    def bits(self) -> float:
        return math.log2(len(self.before) / len(self.after))

    @property
    def told_no(self) -> bool:
        """To a closed question, or of an option that it tried."""
        if self.says is None:
            return False
        return self.says.feedback == "wrong" if self.does.attempt is not None else self.says.confirms == "no"


def options_left(task: Task, facts: Iterable[Fact]) -> Left:
    """Those that fit what these facts say of the item."""
    assert task.choice is not None
    values = {fact.value for fact in facts if fact.value}
    return frozenset(option for option in task.choice.options if task.choice.fits(option, values))


def tried(said: Iterable[Exchange]) -> list[str]:
    """The options that were put forward, in their order."""
    return [each.does.attempt for each in said if each.does.attempt]


def is_found(task: Task, said: Iterable[Exchange]) -> bool:
    """Whether the last option put forward is the item."""
    named = tried(said)
    return bool(named) and equal(named[-1], task.answer)


def exchanges(task: Task, facts: Collection[Fact], turns: Sequence[Turn]) -> list[Exchange]:
    """Of a dialogue in which the student knows `facts`, in the order of its turns."""
    left, found = options_left(task, facts), list[Exchange]()
    for i in range(0, len(turns), 2):
        does = student_reading(task, turns, i)
        says = partner_reading(task, turns, i + 1) if i + 1 < len(turns) else None
        after = left if says is None else _told(task, left, does, says) or left
        found.append(Exchange(does, says, left, after))
        left = after
    return found


def _told(task: Task, left: Left, does: StudentReading, says: PartnerReading) -> Left:
    choice = task.choice
    assert choice is not None
    values = {fact.value for fact in task.facts if fact.id in says.tells and fact.value}
    left = frozenset(option for option in left if choice.fits(option, values))
    if does.attempt is not None and says.feedback != "none":
        holds = says.feedback == "right"
        return frozenset(option for option in left if (choice.name(option) == does.attempt) == holds)
    if does.attempt is None and does.whether and says.confirms != "none":
        holds = says.confirms == "yes"
        return frozenset(option for option in left if choice.fits(option, does.whether) == holds)
    return left

"""What can be read off one turn in its context: the protocol that every reader of turns keeps.

Who understands in a dialogue (a rule partner, which has to notice what it is asked for) and who measures it (the
labels behind the metrics) are different readers: an instrument that judged its own understanding would find no error.

    closed      the wordings of the embedded world, exact there (pipeline/reading/embedded_world/closed.py)

The labels follow the guide in docs/reading.md: only what the turn itself says, true or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pipeline.core.errors import MaieuticError
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Choice, Fact, Party, Task, Turn
from pipeline.reading.numbers.equality import is_number


@dataclass(frozen=True)
class TurnToRead:
    """One turn, and what its reader may know. Only what the reading party knows belongs here."""

    party: Party
    text: str
    question: str
    facts: tuple[Fact, ...] = ()
    before: tuple[Turn, ...] = ()
    answer: str = ""  # the gold one; '' where the reader is not to know it
    entry: str = ""  # the function that the question asks for; then an answer is a program
    choice: Choice | None = None  # the options that the question names
    numeric: bool = True  # answers are numbers; else words, or a program where there is an entry
    imported: bool = False  # people's talk, where a closing sentence may be the answer


def measured(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> TurnToRead:
    """The turn number `i` as the metrics' reader sees it, which may know all of the task."""
    return TurnToRead(
        party=turns[i].party,
        text=turns[i].sure_text,
        question=task.full_question if imported else task.question,
        facts=task.facts,
        before=tuple(turns[:i]),
        answer=task.answer,
        entry=task.entry,
        choice=task.choice,
        numeric=asks_for_a_number(task),
        imported=imported,
    )


def asks_for_a_number(task: Task) -> bool:
    """Where the premise is false the question may ask for one, too, and nothing may show that none is right."""
    return is_number(task.wrong_answer if task.specification == "false_premise" else task.answer)


@dataclass(frozen=True)
class Unread:
    """A turn that could not be read: never the same as a turn that does nothing."""

    message: str
    engine: bool = False  # the engine failed: asking again may help


class NotRead(MaieuticError, ValueError):
    """The same as an error: who needs the reading goes without this turn, and counts it."""

    def __init__(self, unread: Unread, party: Party):
        super().__init__(unread.message)
        self.engine, self.party = unread.engine, party


@runtime_checkable
class Reader(Protocol):
    """Reads many turns at once, in their order; a reading depends on its own turn alone."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]: ...

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]: ...

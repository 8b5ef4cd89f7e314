"""What can be read off one turn in its context: the protocol that every reader of turns keeps.

Who understands in a dialogue (a rule partner, which has to notice what it is asked for) and who measures it (the
labels behind the metrics) are different readers: an instrument that judged its own understanding would find no error.

    closed      the wordings of the embedded world, exact there (pipeline/reading/closed.py)

The labels follow the guide in docs/reading.md: only what the turn itself says, true or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from pipeline.core.schema import Fact, Party, Turn

Stance = Literal["none", "agrees", "disagrees"]
Reveals = Literal["no", "stated", "derivable"]
Feedback = Literal["none", "right", "wrong"]


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


@dataclass(frozen=True)
class StudentReading:
    """What a student's turn does. Ids are those of the task's facts, public ones among them."""

    asks: frozenset[str] = frozenset()  # facts that it asks for
    generic_request: bool = False  # asks for information without naming any
    repeats_question: bool = False  # puts the problem's own question to the partner
    other_question: bool = False  # asks what bears on the problem and on no fact
    says_missing: bool = False  # says that it lacks information
    attempt: str | None = None  # the value that it puts forward in the end
    tentative: bool = False  # with a hedge beside it
    done: bool = False  # says that the work is over
    stance: Stance = "none"  # towards the partner's last turn

    @property
    def asks_anything(self) -> bool:
        return bool(self.asks) or self.generic_request or self.repeats_question or self.other_question


@dataclass(frozen=True)
class PartnerReading:
    """What a partner's turn does."""

    tells: frozenset[str] = frozenset()  # facts that it tells rightly
    tells_wrong: frozenset[str] = frozenset()  # facts that it tells with another value
    reveals: Reveals = "no"  # the gold answer: stated, or one written step away
    feedback: Feedback = "none"  # its verdict on the student's answer or step
    refuses: bool = False  # declines to give what was asked
    off_role: bool = False  # speaks as somebody else than the partner


@dataclass(frozen=True)
class Unread:
    """A turn that could not be read: never the same as a turn that does nothing."""

    message: str
    engine: bool = False  # the engine failed: asking again may help


@runtime_checkable
class Reader(Protocol):
    """Reads many turns at once, in their order; a reading depends on its own turn alone."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]: ...

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]: ...

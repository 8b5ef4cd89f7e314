"""The outcome of a dialogue: final answers, and whether they are right. Computed afterwards, never in the loop.

All rests on what was read of the turns (pipeline/reading/stored.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Party
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue
from pipeline.reading.correctness import judged
from pipeline.reading.numbers.equality import equal
from pipeline.reading.stored import reading


class _Itself:
    """A dialogue that is equal to none but itself, whatever the other holds: to compare contents takes long."""

    def __init__(self, dialogue: Dialogue):
        self.dialogue = dialogue

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.dialogue is other.dialogue

    def __hash__(self) -> int:
        return id(self.dialogue)


def readings(dialogue: Dialogue) -> Sequence[StudentReading | PartnerReading]:
    """What each turn does."""
    return _readings(_Itself(dialogue))


# Selection and the audit ask a dozen questions of a dialogue, and each of them rests on these.
@lru_cache(maxsize=4)
def _readings(of: _Itself) -> tuple[StudentReading | PartnerReading, ...]:
    dialogue = of.dialogue
    imported = dialogue.stop == "imported"
    return tuple(reading(dialogue.task, dialogue.turns, i, imported) for i in range(len(dialogue.turns)))


def attempts(dialogue: Dialogue) -> list[str | None]:
    """The value that each turn puts forward, of both parties."""
    return [read.attempt for read in readings(dialogue)]


def rights(dialogue: Dialogue) -> list[bool | None]:
    """Of each turn, of both parties; None where it commits to nothing."""
    answered = zip(dialogue.turns, attempts(dialogue), strict=True)
    return [None if answer is None else judged(dialogue.task, turn, answer) for turn, answer in answered]


def final_answer(dialogue: Dialogue, party: Party = "student") -> str | None:
    """The last answer that a party committed to."""
    answered = zip(dialogue.turns, attempts(dialogue), strict=True)
    return next((answer for turn, answer in reversed([*answered]) if turn.party == party and answer is not None), None)


def is_correct(dialogue: Dialogue) -> bool:
    """Whether the student's last answer is right; False where it gave none."""
    answered = zip(dialogue.turns, attempts(dialogue), strict=True)
    own = [(turn, answer) for turn, answer in answered if turn.party == "student" and answer is not None]
    return bool(own) and judged(dialogue.task, *own[-1])


def is_grounded(dialogue: Dialogue) -> bool:
    """Every needed fact was in the student's row, or told by the partner, before the final answer."""
    condition, read = dialogue.condition, readings(dialogue)
    has = {fact.id for fact in known(dialogue.task, condition, "student").facts}
    if condition.row.student_reads_partner:
        has |= {fact.id for fact in known(dialogue.task, condition, "partner").facts}
    final = max((i for i, turn in enumerate(read) if turn.party == "student" and turn.attempt is not None), default=0)
    has |= {fact for turn in read[:final] if turn.party == "partner" for fact in turn.tells}
    return all(fact.id in has for fact in dialogue.task.facts if fact.needed)


def asks_nothing(dialogue: Dialogue) -> bool:
    """Whether the student asks for nothing, in no turn."""
    return not any(turn.party == "student" and turn.asks_anything for turn in readings(dialogue))


def gives_one_answer(dialogue: Dialogue) -> bool:
    """Whether the student's first turn commits to an answer, and no later one to that or another."""
    own = [turn.attempt is not None for turn in readings(dialogue) if turn.party == "student"]
    return own[:1] == [True] and not any(own[1:])


def agrees(dialogue: Dialogue) -> bool:
    """Whether both parties answered, and the same, right or wrong."""
    ours, theirs = final_answer(dialogue), final_answer(dialogue, "partner")
    return ours is not None and theirs is not None and equal(ours, theirs)

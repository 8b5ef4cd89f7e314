"""The closed reader: the wordings of the embedded world, by rule. Exact there, and no reader of natural text.

Each rule is the one with which the embedded corpus was made (pipeline/reading/acts.py, attempt.py), or which finds what
a partner does beside its role (pipeline/reading/embedded_world/partner_rules.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from pipeline.core.readings import PartnerReading, Stance, StudentReading
from pipeline.reading.acts import asked_for, done, questions, shows
from pipeline.reading.attempt import attempt
from pipeline.reading.choices.read_choice import option_attempt, partner_on_options, student_on_options
from pipeline.reading.embedded_world.partner_rules import feedback, gives_answer, off_role, told, told_wrong
from pipeline.reading.numbers.read_bound import partner_on_bounds, student_on_bounds
from pipeline.reading.protocol import TurnToRead, Unread

LATELY = 128  # turns whose reading is kept: one after the other, many ask of the same dialogue


class Closed:
    """See `pipeline.reading.protocol.Reader`."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [student_turn(turn) for turn in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return [partner_turn(turn) for turn in turns]


@lru_cache(LATELY)
def student_turn(turn: TurnToRead) -> StudentReading:
    wants = _wanted(turn)
    reading = StudentReading(
        asks=wants.asks,
        other_question=wants.other_question,
        says_missing=shows(turn.text, "refuse"),
        attempt=wants.attempt,
        tentative=wants.attempt is not None and shows(turn.text, "hedge"),
        done=done(turn.text),
        tells=told(turn.text, turn.facts, turn.question),
        stance=_stance(turn.text),
    )
    return student_on_bounds(turn, student_on_options(turn, reading))


def student_request(turn: TurnToRead) -> StudentReading:
    """Of `student_turn` what an answer is given to: what the turn asks for and puts forward. All else is left out, and
    was half of the work of a rule partner's turn."""
    wants = _wanted(turn)
    reading = StudentReading(asks=wants.asks, other_question=wants.other_question, attempt=wants.attempt)
    return student_on_bounds(turn, student_on_options(turn, reading))


class _Wanted(NamedTuple):
    asks: frozenset[str]
    other_question: bool
    attempt: str | None


def _wanted(turn: TurnToRead) -> _Wanted:
    open_questions = questions(turn.text)
    asks = frozenset(asked_for(open_questions, turn.facts))
    return _Wanted(asks, bool(open_questions) and not asks, _attempt(turn))


def _stance(text: str) -> Stance:
    return "disagrees" if shows(text, "disagree") else "agrees" if shows(text, "agree") else "none"


@lru_cache(LATELY)
def partner_turn(turn: TurnToRead) -> PartnerReading:
    revealed = turn.answer and gives_answer(turn.text, turn.answer, turn.question, turn.facts)
    reading = PartnerReading(
        tells=told(turn.text, turn.facts, turn.question),
        tells_wrong=told_wrong(turn.text, turn.facts),
        reveals="stated" if revealed else "no",
        feedback=feedback(turn.text),
        refuses=shows(turn.text, "refuse"),
        off_role=off_role(turn.text),
        attempt=_attempt(turn),
        done=done(turn.text),
    )
    return partner_on_bounds(turn, partner_on_options(turn, reading))


def _attempt(turn: TurnToRead) -> str | None:
    if turn.choice:
        return option_attempt(turn.text, turn.choice)
    return attempt(turn.text, turn.question if turn.imported else "", turn.entry)

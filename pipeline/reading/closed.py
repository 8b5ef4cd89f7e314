"""The closed reader: the wordings of the embedded world, by rule. Exact there, and no reader of natural text.

Each rule is the one with which the embedded corpus was made (pipeline/reading/acts.py, attempt.py), or which finds what
a partner does beside its role (pipeline/reading/embedded_world/partner_rules.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pipeline.core.readings import PartnerReading, Stance, StudentReading
from pipeline.reading.acts import asked_for, done, questions, shows
from pipeline.reading.attempt import attempt
from pipeline.reading.choices.read_choice import option_attempt, partner_on_options, student_on_options
from pipeline.reading.embedded_world.partner_rules import feedback, gives_answer, off_role, told, told_wrong
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
    open_questions = questions(turn.text)
    wanted = frozenset(asked_for(open_questions, turn.facts))
    answer = _attempt(turn)
    reading = StudentReading(
        asks=wanted,
        other_question=bool(open_questions) and not wanted,
        says_missing=shows(turn.text, "refuse"),
        attempt=answer,
        tentative=answer is not None and shows(turn.text, "hedge"),
        done=done(turn.text),
        tells=told(turn.text, turn.facts, turn.question),
        stance=_stance(turn.text),
    )
    return student_on_options(turn, reading)


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
    return partner_on_options(turn, reading)


def _attempt(turn: TurnToRead) -> str | None:
    if turn.choice:
        return option_attempt(turn.text, turn.choice)
    return attempt(turn.text, turn.question if turn.imported else "", turn.entry)

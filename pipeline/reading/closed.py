"""The closed reader: the wordings of the embedded world, by rule. Exact there, and no reader of natural text.

Each rule is the one with which the embedded corpus was made (pipeline/reading/acts.py, attempt.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.core.readings import Feedback, PartnerReading, Reveals, Stance, StudentReading
from pipeline.reading.acts import acts, asked, done, given, questions
from pipeline.reading.attempt import attempt
from pipeline.reading.numbers.equality import equal
from pipeline.reading.protocol import TurnToRead, Unread
from pipeline.reading.stated_answer import gives_away

_RIGHT = re.compile(r"\b(?:is right|is correct|check passed)\b", re.I)
_WRONG = re.compile(
    r"\b(?:is not right|is wrong|is not correct|check failed|too (?:high|low)|go (?:lower|higher))\b", re.I
)


class Closed:
    """See `pipeline.reading.protocol.Reader`."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [student_turn(turn) for turn in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return [partner_turn(turn) for turn in turns]


def student_turn(turn: TurnToRead) -> StudentReading:
    wanted, open_questions = frozenset(asked(turn.text, turn.facts)), questions(turn.text)
    labels = acts(turn.text, turn.facts)
    answer = _attempt(turn)
    return StudentReading(
        asks=wanted,
        other_question=bool(open_questions) and not wanted,
        says_missing="refuse" in labels,
        attempt=answer,
        tentative=answer is not None and "hedge" in labels,
        done=done(turn.text),
        stance=_stance(labels),
    )


def _stance(labels: set[str]) -> Stance:
    return "disagrees" if "disagree" in labels else "agrees" if "agree" in labels else "none"


def partner_turn(turn: TurnToRead) -> PartnerReading:
    revealed: Reveals = "stated" if turn.answer and gives_away(turn.text, turn.answer, turn.question) else "no"
    return PartnerReading(
        tells=frozenset(given(turn.text, turn.facts)),
        reveals=revealed,
        feedback=_feedback(turn),
        refuses="refuse" in acts(turn.text, turn.facts),
        attempt=_attempt(turn),
    )


def _attempt(turn: TurnToRead) -> str | None:
    return attempt(turn.text, turn.question if turn.imported else "", turn.entry)


def _feedback(turn: TurnToRead) -> Feedback:
    if _WRONG.search(turn.text):
        return "wrong"
    if _RIGHT.search(turn.text):
        return "right"
    claimed = attempt(turn.text)
    theirs = [attempt(said.text) for said in turn.before if said.party == "student"]
    if claimed is None or not theirs or theirs[-1] is None:
        return "none"
    return "right" if equal(claimed, theirs[-1]) else "wrong"

"""What a turn of a stored dialogue does: as it was read when the dialogue was made, or by the closed reader now."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.reading.attempt import attempt
from pipeline.reading.closed import partner_turn, student_turn
from pipeline.reading.correctness import judged
from pipeline.reading.protocol import measured


def student_reading(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> StudentReading:
    """Of the turn number `i`, which is the student's."""
    stored = turns[i].reading
    if stored is None:
        return student_turn(measured(task, turns, i, imported))
    assert isinstance(stored, StudentReading)
    return stored


def partner_reading(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> PartnerReading:
    """Of the turn number `i`, which is the partner's."""
    stored = turns[i].reading
    if stored is None:
        return partner_turn(measured(task, turns, i, imported))
    assert isinstance(stored, PartnerReading)
    return stored


def reading(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> StudentReading | PartnerReading:
    """Of the turn number `i`, whoever said it."""
    of_party = student_reading if turns[i].party == "student" else partner_reading
    return of_party(task, turns, i, imported)


def is_right(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> bool | None:
    """Whether what the turn number `i` commits to is right; None where it commits to no answer. Raises NotChecked."""
    answer = reading(task, turns, i, imported).attempt
    return None if answer is None else judged(task, turns[i], answer)


def heard_attempt(task: Task, turn: Turn) -> str | None:
    """The value that the partner heard in a student's turn."""
    return turn.heard.attempt if turn.heard else attempt(turn.text, entry=task.entry)


def heard_right(task: Task, turn: Turn) -> bool | None:
    """Whether the attempt that the partner heard in a student's turn is right; None where it heard none."""
    answer = heard_attempt(task, turn)
    return None if answer is None else judged(task, turn, answer)

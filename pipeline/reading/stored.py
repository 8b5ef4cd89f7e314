"""What a turn of a stored dialogue does: as it was read when the dialogue was made, or by the closed reader now.

Which of the two it is was decided when the dialogue was loaded: where another reader is the config's, a turn without a
reading is an error there (`pipeline.runs.dialogue_pool.as_read`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.reading.acts import done
from pipeline.reading.correctness import judged
from pipeline.reading.embedded_world.closed import partner_turn, student_turn
from pipeline.reading.protocol import TurnToRead, measured


def student_reading(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> StudentReading:
    """Of the turn number `i`, which is the student's."""
    stored = _stored(turns, i)
    if stored is None:
        return student_turn(measured(task, turns, i, imported))
    assert isinstance(stored, StudentReading)
    return stored


def partner_reading(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> PartnerReading:
    """Of the turn number `i`, which is the partner's."""
    stored = _stored(turns, i)
    if stored is None:
        return partner_turn(measured(task, turns, i, imported))
    assert isinstance(stored, PartnerReading)
    return stored


def reading(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> StudentReading | PartnerReading:
    """Of the turn number `i`, whoever said it."""
    of_party = student_reading if turns[i].party == "student" else partner_reading
    return of_party(task, turns, i, imported)


def _stored(turns: Sequence[Turn], i: int) -> StudentReading | PartnerReading | None:
    """None where the closed reader is to read, whose readings are never stored: of no turn beside this one either."""
    stored = turns[i].reading
    if stored is None and any(turn.reading is not None for turn in turns):
        raise ValueError(f"turn {i} has no reading, and others beside it have: expected all, as an Instrument reads")
    return stored


def is_right(task: Task, turns: Sequence[Turn], i: int, imported: bool = False) -> bool | None:
    """Whether what the turn number `i` commits to is right; None where it commits to no answer. Raises NotChecked."""
    answer = reading(task, turns, i, imported).attempt
    return None if answer is None else judged(task, turns[i], answer)


def heard_turn(task: Task, turn: Turn) -> StudentReading:
    """What the partner heard in a student's turn, whatever it knows; which facts are asked for is not in it where the
    closed reader heard it."""
    if turn.heard is not None:
        return turn.heard
    return student_turn(
        TurnToRead(party="student", text=turn.sure_text, question=task.question, entry=task.entry, choice=task.choice)
    )


def heard_leaving(turn: Turn) -> bool:
    """Whether the partner heard in a student's turn that it is done."""
    return done(turn.sure_text) if turn.heard is None else turn.heard.done


def heard_right(task: Task, turn: Turn) -> bool | None:
    """Whether the attempt that the partner heard in a student's turn is right; None where it heard none."""
    answer = heard_turn(task, turn).attempt
    return None if answer is None else judged(task, turn, answer)

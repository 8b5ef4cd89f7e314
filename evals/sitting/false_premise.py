"""What a student makes of a problem that takes something false for granted, by the reading of its answer."""

from __future__ import annotations

from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task
from pipeline.reading.numbers.equality import equal


def rejects(task: Task, does: StudentReading) -> bool:
    """Whether it says so: as its answer, which is the gold one, or without an answer by disagreeing.

    To say that something is missing is no rejection ("I cannot tell.").
    """
    if does.attempt is None:
        return does.stance == "disagrees"
    return equal(does.attempt, task.answer)

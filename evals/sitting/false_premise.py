"""What a student makes of a problem that takes something false for granted, by the reading of its answer."""

from __future__ import annotations

from collections.abc import Collection

from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task
from pipeline.reading.numbers.equality import equal


def rejects(task: Task, does: StudentReading) -> bool:
    """Whether it says so: as its answer, which is the gold one, or without an answer by disagreeing.

    To say that something is missing is no rejection ("I cannot tell.").
    """
    return rejects_one([task.answer], does)


def rejects_one(answers: Collection[str], does: StudentReading) -> bool:
    """The same of a problem that takes nothing false for granted; `answers` are those that would say that it does."""
    if does.attempt is None:
        return does.stance == "disagrees"
    return any(equal(does.attempt, answer) for answer in answers)

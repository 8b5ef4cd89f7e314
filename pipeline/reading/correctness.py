"""Whether what a turn commits to is right: by its value, or by what the tests said of its program.

Nothing is run here. The program of a turn was run when the turn was said (pipeline/sandbox/checks.py), and what the
tests said is stored with it, so that a dialogue that is read again is judged as it was.
"""

from __future__ import annotations

from pipeline.core.errors import MaieuticError
from pipeline.core.schema import Task, Turn
from pipeline.reading.numbers.equality import equal


class NotChecked(MaieuticError, ValueError):
    """A turn holds a program, and nobody ran its tests."""


def judged(task: Task, turn: Turn, answer: str) -> bool:
    """Whether the answer that a turn commits to is right. Raises NotChecked."""
    if task.tests is None:
        return equal(answer, task.answer)
    if turn.check is None:
        raise NotChecked(
            f"task {task.id}: a turn of the {turn.party} holds a program that was not run. Dialogues about code are "
            "made by `maieutic build`, which runs each program when it is said"
        )
    return turn.check.passed

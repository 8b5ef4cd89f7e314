"""One student sits all exams."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from evals.examining.answers_asked import most_answers
from evals.examining.examine import examine, is_done, who_sits
from evals.examining.kept_answers import keeping_answers
from pipeline.building.memory import recall
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.engines.model import Model
from pipeline.experiment.cell import Cell
from pipeline.experiment.fields import UNTRAINED
from pipeline.runs.directory import newest_adapter
from pipeline.runs.student_files import results_path
from pipeline.runs.usage import Metered

Tasks = tuple[list[Task], list[Task]]  # of whole exams, and those that are asked for a first turn alone


class Sat(NamedTuple):
    """What sitting the exams took."""

    answers: int  # the student's
    seconds: float
    cached: str  # how much of the prompts of all models was in memory, in words


def adapter_of(cell: Cell) -> Path | None:
    """With which it sits; None for who was not trained, and for who is not there."""
    return None if cell.condition_name in UNTRAINED else newest_adapter(cell)


async def sit(cell: Cell, casting: Casting, tasks: Tasks, progress: Callable[[int, int], None]) -> Sat:
    """`examine` for the student of a cell, opened, with what it remembers. `progress` is told of each answer. What was
    asked is counted in usage.jsonl, until an error came, too; then it is not asked again. What a kill stops is not
    counted."""
    began, answered = time.monotonic(), count(1)
    total = most_answers(cell.experiment, tasks[0], len(tasks[1]))
    if cell.condition_name not in UNTRAINED and cell.condition.memory != "none":
        tasks = recall(cell, tasks[0]), recall(cell, tasks[1])
    # Of the cell, which knows the base that its student learned on.
    base, adapter = casting.student(cell.in_round(-1)), adapter_of(cell)
    path = results_path(cell).with_suffix(".answers")
    try:
        with keeping_answers(path, who_sits(cell.experiment, adapter)) as kept:

            def judge() -> Model:
                return kept.of("judge", casting.open("judge"))

            student = Metered(kept.of("student", casting.student(cell)), lambda _: progress(next(answered), total))
            await examine(cell, adapter, student, kept.of("peer", base), *tasks, judge)
    finally:
        cached = casting.meter.store(cell.experiment.run, "examine", cell)
    if is_done(cell, adapter):
        path.unlink()
    return Sat(next(answered) - 1, time.monotonic() - began, cached)

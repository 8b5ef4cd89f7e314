"""Sitting the exams as work for a process of its own (evals/examining/side_by_side_exams.py)."""

from __future__ import annotations

import asyncio

from evals.examining.sitter import Sat, sit
from pipeline.dialogue.casting import Casting
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.runs.directory import newest_adapter
from pipeline.runs.worker import Told


def sat(cell: Cell, told: Told) -> Sat:
    """What it took. Raises what `evals.examining.sitter.sit` raises."""
    casting = Casting(cell.experiment, newest_adapter)
    with told(cell.label("examine")) as progress:
        return asyncio.run(sit(cell, casting, exam_tasks(cell.experiment), progress))

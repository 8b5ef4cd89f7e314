"""Training as work for a process of its own (training/side_by_side.py)."""

from __future__ import annotations

from pathlib import Path

from pipeline.experiment.cell import Cell
from pipeline.runs.directory import adapter_before
from pipeline.runs.worker import Told


def trained(cell: Cell, told: Told) -> Path:
    """Its adapter. Raises what `training.student.train` raises."""
    from training.student import train  # heavy: TRL

    return train(cell, adapter_before(cell), told)

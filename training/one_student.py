"""A process that trains students for another one (training/side_by_side.py)."""

from __future__ import annotations

from pathlib import Path

from pipeline.experiment.cell import Cell
from pipeline.runs.directory import adapter_before
from pipeline.runs.worker import Told, work_for_another


def _trained(cell: Cell, told: Told) -> Path:
    from training.student import train  # heavy: TRL

    return train(cell, adapter_before(cell), told)


if __name__ == "__main__":
    work_for_another(_trained)

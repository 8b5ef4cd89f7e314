"""What a dialogue is known by: its id, and the key of its random streams."""

from __future__ import annotations

from pipeline.core.schema import digest
from pipeline.experiment.cell import Cell


def dialogue_id(cell: Cell, task_id: str, sample: int) -> str:
    """A hash of task, condition, seed and config."""
    experiment, shaping = cell.experiment, cell.condition.shaping()
    particulars = experiment.particulars(cell.condition_name)
    return digest(
        task_id, cell.condition_name, shaping, cell.seed, cell.round, sample, experiment.fingerprint(), *particulars
    )


def stream_key(cell: Cell, task_id: str, sample: int) -> str:
    """The key of a dialogue's random streams.

    Not named by condition: all conditions meet the same task with the same draws until their partners differ.
    """
    return digest(task_id, cell.seed, cell.round, sample, cell.experiment.fingerprint())

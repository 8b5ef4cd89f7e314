"""What a dialogue is known by: its id, and the key of its random streams."""

from __future__ import annotations

from pipeline.core.schema import digest
from pipeline.experiment.cell import Cell


class DialogueKeys:
    """Those of one cell's dialogues. What they share is looked up once: it takes milliseconds."""

    def __init__(self, cell: Cell):
        self.cell, self.shaping = cell, cell.condition.shaping()
        self.fingerprint = cell.experiment.fingerprint()
        self.particulars = cell.experiment.particulars(cell.condition_name)

    def id(self, task_id: str, sample: int) -> str:
        """A hash of task, condition, seed and config."""
        _, condition_name, seed, round = self.cell
        return digest(task_id, condition_name, self.shaping, seed, round, sample, self.fingerprint, *self.particulars)

    def stream(self, task_id: str, sample: int) -> str:
        """The key of a dialogue's random streams.

        Not named by condition: all conditions meet the same task with the same draws until their partners differ.
        """
        return digest(task_id, self.cell.seed, self.cell.round, sample, self.fingerprint)

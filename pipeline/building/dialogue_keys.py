"""What a dialogue is known by: its id, and the key of its random streams."""

from __future__ import annotations

from typing import Any

from pipeline.core.schema import digest_of, json_of
from pipeline.experiment.cell import Cell


class DialogueKeys:
    """Those of one cell's dialogues, as `digest` hashes their parts. What they share is looked up and written once: it
    takes milliseconds."""

    def __init__(self, cell: Cell):
        self.cell = cell
        _, condition_name, seed, round = cell
        fingerprint = cell.experiment.fingerprint()
        self._shared = _listed([condition_name, cell.condition.shaping(), seed, round])
        self._config = _listed([fingerprint, *cell.experiment.particulars(condition_name)])
        self._seed, self._fingerprint = _listed([seed, round]), json_of(fingerprint)

    def id(self, task_id: str, sample: int) -> str:
        """A hash of task, condition, seed and config."""
        return digest_of(f"[{json_of(task_id)}, {self._shared}, {sample}, {self._config}]")

    def stream(self, task_id: str, sample: int) -> str:
        """The key of a dialogue's random streams.

        Not named by condition: all conditions meet the same task with the same draws until their partners differ.
        """
        return digest_of(f"[{json_of(task_id)}, {self._seed}, {sample}, {self._fingerprint}]")


def _listed(parts: list[Any]) -> str:
    return json_of(parts)[1:-1]

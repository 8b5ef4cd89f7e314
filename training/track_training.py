"""A training shown in its tracker while it goes on (training/tracking.py)."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from pipeline.experiment.cell import Cell
from training.tracking import Tracker


class Tracking(TrainerCallback):
    """Shows what the Trainer logs; nothing where no tracker is named."""

    def __init__(self, cell: Cell):
        self.cell = cell
        self.tracker: Tracker | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.cell.experiment.training.report_to != "none" and state.is_world_process_zero:
            self.tracker = Tracker(self.cell)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if self.tracker is not None:
            self.tracker.log({f"train/{name}": value for name, value in (logs or {}).items()}, state.global_step)

    def close(self) -> None:
        """However the training ended."""
        if self.tracker is not None:
            self.tracker.close()
            self.tracker = None

"""Checkpoints of a training: a kill, or an engine that fails, costs the steps since the last one.

A checkpoint is the Trainer's own folder (adapter, optimizer, schedule, random states) and `progress.json`, which is
written last: what it was made from, and what the Trainer does not keep. A folder without it was being written when the
process ended, and is not gone on from. On a CPU a training that was resumed ends with the bytes of one that was not.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import TrainerCallback

from pipeline.core.files import write_whole
from training.adapter import that_matters
from training.inputs.job import PreparedTrainer

PROGRESS = "progress.json"


class Progress(NamedTuple):
    """What a checkpoint holds beside the Trainer's own state."""

    made_from: dict[str, Any]  # data, settings, start and versions; other ones do not go on from it
    epochs: int  # whole ones
    seconds: float  # that the training took until then
    loss: float  # summed over its steps
    batch_order: str  # torch's random state when the epoch began, of which the order of its batches was drawn, as hex
    counted: dict[str, int]  # tokens of all processes, where the method counts them


def newest(folder: Path, made_from: dict[str, Any]) -> Path | None:
    """The newest whole checkpoint of the same training; None where there is none."""
    same, found = that_matters(made_from), [file.parent for file in folder.glob(f"checkpoint-*/{PROGRESS}")]
    whole = [path for path in found if that_matters(_read(path).made_from) == same]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _read(checkpoint: Path) -> Progress:
    return Progress(**json.loads((checkpoint / PROGRESS).read_text(encoding="utf-8")))


class Checkpoints(TrainerCallback):
    """Has the Trainer save every so many steps, and brings back what `progress.json` holds."""

    def __init__(self, prepared: PreparedTrainer, made_from: dict[str, Any], steps: int):
        self.prepared, self.made_from, self.steps = prepared, made_from, steps
        self.trainer, self.token_counts = prepared.trainer, prepared.token_counts
        self.began, self.batch_order, self.resumed = time.monotonic(), "", False

    def resume(self, checkpoint: Path) -> None:
        """Go on from this checkpoint, as the Trainer has to be told too."""
        progress = _read(checkpoint)
        self.began -= progress.seconds
        self.prepared.skip_epochs(progress.epochs)
        self.loss, self.batch_order, self.resumed = progress.loss, progress.batch_order, True
        if self.token_counts is not None and self.trainer.is_world_process_zero():
            self.token_counts.add(progress.counted)

    @property
    def seconds(self) -> float:
        """That the training took, before it was interrupted too."""
        return time.monotonic() - self.began

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.resumed:
            self.trainer._total_loss_scalar = self.loss  # the Trainer begins at 0, and divides by all steps

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # The order of an epoch's batches is drawn when it begins; the Trainer keeps the random state of its middle.
        if self.resumed:
            torch.set_rng_state(_state(self.batch_order))
            self.resumed = False
        self.batch_order = _hex(torch.get_rng_state())

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % self.steps == 0 and not control.should_training_stop:
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        accelerator = self.trainer.accelerator
        # Each process has to call it.
        counted = {} if self.token_counts is None else self.token_counts.totals(accelerator)
        if not state.is_world_process_zero:
            return
        trainer, is_epochs_end = self.trainer, float(state.epoch).is_integer()
        progress = Progress(
            made_from=self.made_from,
            epochs=int(state.epoch),
            seconds=self.seconds,
            loss=trainer._total_loss_scalar + trainer._tr_loss.item(),
            batch_order=_hex(torch.get_rng_state()) if is_epochs_end else self.batch_order,
            counted=counted,
        )
        folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
        for other in folder.glob("*/adapter_config.json"):
            # A copy of the start, which is made anew; beside it the Trainer would not read the adapter itself.
            shutil.rmtree(other.parent)
        write_whole(folder / PROGRESS, json.dumps(progress._asdict()))


def _hex(state: torch.Tensor) -> str:
    return state.numpy().tobytes().hex()


def _state(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8)

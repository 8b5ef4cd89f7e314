"""What every learning rule is given, and what it hands back to be trained."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer

from pipeline.core.errors import ConfigError
from pipeline.engines.dtype import computed_in
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import Override
from pipeline.knowledge.condition import OF_PARTNER, ONLINE, Method
from pipeline.runs.directory import adapter_path
from training.inputs.token_counts import TokenCounts

KEPT = 2  # checkpoints: while a new one is written, the one before it must be whole


def checkpoints_of(cell: Cell) -> Path:
    """Where the checkpoints of a student's training lie, until its adapter is there."""
    adapter = adapter_path(cell)
    return adapter.with_name(f".{adapter.name}.checkpoints")


class TrainingJob(NamedTuple):
    """Which student is trained, and from what weights. `lora` is None where the model has its adapter already."""

    cell: Cell
    model: PreTrainedModel | PeftModel
    tokenizer: PreTrainedTokenizerBase
    lora: LoraConfig | None

    @property
    def experiment(self) -> Experiment:
        return self.cell.experiment

    @property
    def method(self) -> Method:
        return self.cell.condition.method

    @property
    def keeps_reasoning(self) -> bool:
        """Whether what was reasoned before a turn is learned, of the role whose turns are."""
        return self.experiment.role("partner" if self.method in OF_PARTNER else "student").thinking == "keep"

    @property
    def max_length(self) -> int:
        """Tokens that a row may have."""
        context = int(self.model.config.get_text_config().max_position_embeddings)
        return min(self.experiment.training.max_length, context)

    def arguments(self) -> dict[str, Any]:
        """What the arguments of all trainers share."""
        settings, (micro, accumulate) = self.experiment.training, batching(self.experiment, self.method)
        own = settings.methods.get(self.method, Override())
        return {
            "output_dir": str(checkpoints_of(self.cell)),
            "seed": self.cell.seed,
            "num_train_epochs": own.epochs or settings.epochs,
            "max_steps": -1 if settings.steps is None or self.method in ONLINE else settings.steps,
            "learning_rate": own.learning_rate or settings.learning_rate,
            "per_device_train_batch_size": micro,
            "gradient_accumulation_steps": accumulate,
            "bf16": in_bf16(self.experiment),
            "gradient_checkpointing": settings.gradient_checkpointing,
            "use_cpu": not torch.accelerator.is_available(),
            "save_strategy": "no",  # training.checkpoints says when
            "save_total_limit": KEPT,
            "report_to": "none",  # training.tracking does, with names of ours
            "logging_steps": 10,
            "disable_tqdm": True,
            "dataloader_pin_memory": torch.accelerator.is_available(),
            "ddp_find_unused_parameters": False,
        }


class PreparedTrainer(NamedTuple):
    """A trainer that is ready, and the size of what it is given."""

    trainer: Trainer
    sequences: int
    tokens: int  # that carry loss, in one epoch; 0 where `account` knows
    held_out: Dataset | None = None  # scored afterwards, not learned
    account: Callable[[], dict[str, Any]] = dict  # for the record, what is known only once it has been trained
    token_counts: TokenCounts | None = None  # tokens, where the method counts them while it learns
    skip_epochs: Callable[[int], None] = lambda epochs: None  # for a training that is gone on with
    close: Callable[[], None] = lambda: None  # ends what was started for the training, however that ended


def in_bf16(experiment: Experiment) -> bool:
    """Whether the arithmetic of training is bfloat16, autocast as Hugging Face's trainers do it."""
    chosen = experiment.training.bf16
    if isinstance(chosen, bool):
        return chosen
    return not experiment.dialogue.deterministic and computed_in("auto", experiment.student.model) == "bfloat16"


def rows_per_step(experiment: Experiment, method: Method) -> int:
    """Rows of an optimizer step: `training.batch`, or the groups of what is played in it."""
    grpo = experiment.training.grpo
    return grpo.tasks_per_step * grpo.group if method in ONLINE else experiment.training.batch


def batching(experiment: Experiment, method: Method = "sft") -> tuple[int, int]:
    """Rows per device and pass, and passes per optimizer step, so that a step has `rows_per_step`.

    Raises ConfigError where the number of processes (accelerate's WORLD_SIZE) does not allow that.
    """
    settings, processes = experiment.training, int(os.environ.get("WORLD_SIZE", "1"))
    rows = rows_per_step(experiment, method)
    micro = min(settings.micro_batch, rows // processes)
    if micro < 1 or rows % (micro * processes):
        key = "grpo: tasks_per_step x group" if method in ONLINE else "batch"
        raise ConfigError(
            f"training.{key}: {rows} is not a multiple of {max(micro, 1) * processes} "
            f"(training.micro_batch {settings.micro_batch} on {processes} process(es)). Change one of them."
        )
    return micro, rows // (micro * processes)

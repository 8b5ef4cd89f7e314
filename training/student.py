"""One student: the rows of its condition, seed and round, learned by the condition's method, as a LoRA adapter.

An adapter folder appears whole or not at all, with `training.json` beside the weights: what it was
trained on and how. The same data, settings and start give the same bytes on a CPU, and are skipped. A training that
was killed, or whose engine failed, goes on from its newest checkpoint (training/checkpoints.py).

    maieutic train configs/quickstart.yaml
    accelerate launch -m maieutic train configs/sharded_qwen3_0.6b.yaml     # several GPUs
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel
from transformers import (
    AutoModelForCausalLM,
    BitsAndBytesConfig,
    PrinterCallback,
    ProgressCallback,
    TrainerCallback,
    set_seed,
)
from transformers.utils import logging as hf_logging

from pipeline.datasets.rows import Row
from pipeline.engines.decoding.freed_memory import collect
from pipeline.engines.model import EngineDown, EngineError
from pipeline.engines.transformers import end_tokens, load_tokenizer
from pipeline.engines.weights import weights_at
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import ONLINE, Method
from pipeline.runs.directory import adapter_path
from pipeline.runs.progress import say, stage
from training.adapter import is_done, made_from, save
from training.checkpoints import Checkpoints, newest
from training.inputs.job import PreparedTrainer, TrainingJob, checkpoints_of, in_bf16
from training.inputs.masks import RowTooLong, require_end
from training.inputs.student_rows import student_rows
from training.inputs.untrained import Interrupted
from training.online.grpo import grpo_trainer
from training.track_training import Tracking
from training.trainers.dpo import dpo_trainer
from training.trainers.kto import kto_trainer
from training.trainers.post_completion import post_completion_trainer
from training.trainers.sft import sft_trainer

Shown = AbstractContextManager[Callable[[int, int], None]]  # it is called with steps done and steps in all
TRAINERS: dict[Method, Callable[[TrainingJob, list[Row]], PreparedTrainer]] = {
    "sft": sft_trainer,
    "monologue": sft_trainer,
    "q_priming": sft_trainer,
    "post_completion": post_completion_trainer,
    "expert": sft_trainer,
    "dpo": dpo_trainer,
    "dpo_answer": dpo_trainer,
    "dpo_judge": dpo_trainer,
    "kto": kto_trainer,
    "grpo": grpo_trainer,
    "grpo_turn": grpo_trainer,
    "grpo_next": grpo_trainer,
    "grpo_step": grpo_trainer,
}


def train(cell: Cell, start: Path | None = None, shown: Callable[[str], Shown] = stage) -> Path:
    """Train the student of one cell on its rows; the adapter's folder is returned.

    `start` is the adapter to go on from (the round before's); without it LoRA starts at nothing. `shown` opens what
    is told of each step. Returns at once where the adapter is there with the same data, settings and start. Raises
    NothingToTrain without rows, RowTooLong or TemplateError (training.inputs.masks) naming the row, RunError without a
    dataset, ConfigError for settings that do not fit, Interrupted where an engine failed and kept failing.
    """
    try:
        return _trained(cell, start, shown)
    finally:
        collect()  # before an engine, or the next trainer, asks for a GPU's memory


def _trained(cell: Cell, start: Path | None, shown: Callable[[str], Shown]) -> Path:
    rows, out = student_rows(cell), adapter_path(cell)
    origin = made_from(cell, rows, start)
    if is_done(out, origin):
        return out
    prepared, checkpoint = _prepare(cell, rows, start), newest(checkpoints_of(cell), origin)
    trainer, checkpoints = prepared.trainer, Checkpoints(prepared, origin, _steps_between(cell))
    tracking = Tracking(cell)
    if checkpoint is not None:
        checkpoints.resume(checkpoint)
        say(f"{cell.label('train')}: goes on after step {checkpoint.name.rpartition('-')[2]}")
    try:
        with shown(cell.label("train")) as progress:
            for callback in (_Progress(progress), checkpoints, tracking):
                trainer.add_callback(callback)
            loss = trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint)).training_loss
        learned = {**_score(prepared), **prepared.account()}
    except (EngineError, EngineDown) as error:
        raise Interrupted(
            f"{cell.label('train')}: interrupted after step {trainer.state.global_step} of {trainer.state.max_steps}: "
            f"{error}. The same command goes on from there."
        ) from error
    finally:
        tracking.close()
        prepared.close()
    if trainer.is_world_process_zero():
        record = origin | {
            "rows": len(rows),
            "sequences": prepared.sequences,
            "optimizer_steps": trainer.state.global_step,
            "trained_tokens": int(prepared.tokens * (trainer.state.epoch or 0) + 0.5),
            "loss": loss,
            "dtype": "bfloat16" if in_bf16(cell.experiment) else "float32",
            **learned,
            "seconds": checkpoints.seconds,
        }
        save(trainer, cell, record)
    trainer.accelerator.wait_for_everyone()
    return out


def _prepare(cell: Cell, rows: list[Row], start: Path | None) -> PreparedTrainer:
    job = _open_job(cell, start)
    try:
        prepared = TRAINERS[job.method](job, rows)
    except RowTooLong as error:
        raise RowTooLong(f"{cell.label('train')}: {error}") from None
    for callback in (ProgressCallback, PrinterCallback):
        prepared.trainer.remove_callback(callback)
    return prepared


def _steps_between(cell: Cell) -> int:
    """Steps from one checkpoint to the next: one where playing a step takes long, and hangs on engines."""
    return 1 if cell.condition.method in ONLINE else cell.experiment.training.save_steps


def _open_job(cell: Cell, start: Path | None) -> TrainingJob:
    experiment, settings = cell.experiment, cell.experiment.training
    tokenizer = load_tokenizer(experiment.base)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    set_seed(cell.seed)
    hf_logging.disable_progress_bar()  # ours is the one progress display
    # Weights in the type of the arithmetic: a float32 base would cost a GPU twice the memory.
    model: Any = AutoModelForCausalLM.from_pretrained(
        weights_at(experiment.base),
        dtype=torch.bfloat16 if in_bf16(experiment) else torch.float32,
        quantization_config=_nf4() if settings.load_in_4bit else None,
    )
    require_end(tokenizer, end_tokens(model, tokenizer))
    if start is not None:
        return TrainingJob(cell, PeftModel.from_pretrained(model, start, is_trainable=True), tokenizer, None)
    return TrainingJob(cell, model, tokenizer, LoraConfig(**settings.lora, task_type="CAUSAL_LM"))


def _nf4() -> BitsAndBytesConfig:
    """QLoRA (Dettmers et al. 2023, section 3): NormalFloat, its constants quantized too, arithmetic in bfloat16."""
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def _score(prepared: PreparedTrainer) -> dict[str, Any]:
    """On how many held-out pairs the student now prefers the better turn, more than the base does."""
    if prepared.held_out is None:
        return {}
    scores = prepared.trainer.evaluate()
    return {"held_out": {"pairs": len(prepared.held_out), "accuracy": scores["eval_rewards/accuracies"]}}


class _Progress(TrainerCallback):
    def __init__(self, progress: Callable[[int, int], None]):
        self.progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            self.progress(state.global_step, state.max_steps)

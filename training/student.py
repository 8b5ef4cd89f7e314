"""One student: the rows of its condition, seed and round, learned by the condition's method, as a LoRA adapter.

An adapter folder appears whole or not at all, with `training.json` beside the weights: what it was
trained on and how. The same data, settings and start give the same bytes on a CPU, and are skipped.

    maieutic train configs/quickstart.yaml
    accelerate launch -m maieutic.cli train configs/sharded_qwen3_0.6b.yaml     # several GPUs
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    set_seed,
)
from transformers.utils import logging as hf_logging

from pipeline.core.errors import ConfigError
from pipeline.core.schema import digest
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.rows import Row
from pipeline.engines.transformers import load_tokenizer
from pipeline.engines.weights import weights_at, weights_id
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import Method
from pipeline.runs.directory import adapter_path
from pipeline.runs.progress import StageProgress, stage
from training.inputs.job import NothingToTrain, PreparedTrainer, TrainingJob, in_bf16
from training.inputs.masks import RowTooLong
from training.online.grpo import grpo_trainer
from training.trainers.dpo import dpo_trainer
from training.trainers.kto import kto_trainer
from training.trainers.sft import sft_trainer

TRAINERS: dict[Method, Callable[[TrainingJob, list[Row]], PreparedTrainer]] = {
    "sft": sft_trainer,
    "monologue": sft_trainer,
    "q_priming": sft_trainer,
    "dpo": dpo_trainer,
    "dpo_answer": dpo_trainer,
    "kto": kto_trainer,
    "grpo": grpo_trainer,
    "grpo_turn": grpo_trainer,
    "grpo_next": grpo_trainer,
    "grpo_step": grpo_trainer,
}
RECORD = "training.json"
PACKAGES = ("torch", "transformers", "trl", "peft")


def train(cell: Cell, start: Path | None = None) -> Path:
    """Train the student of one cell on its rows; the adapter's folder is returned.

    `start` is the adapter to go on from (the round before's); without it LoRA starts at nothing. Returns at
    once where the adapter is there with the same data, settings and start. Raises NothingToTrain without
    rows, RowTooLong or TemplateError (training.inputs.masks) naming the row, RunError without a dataset,
    ConfigError for settings that do not fit.
    """
    rows, out = _rows(cell), adapter_path(cell)
    record = _inputs(cell, rows, start)
    if is_done(out, record):
        return out
    began = time.monotonic()
    job = _open_job(cell, start)
    try:
        prepared = TRAINERS[job.method](job, rows)
    except RowTooLong as error:
        raise RowTooLong(f"{cell.label('train')}: {error}") from None
    trainer = prepared.trainer
    for callback in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(callback)
    out.parent.mkdir(parents=True, exist_ok=True)
    with stage(cell.label("train")) as progress:
        trainer.add_callback(_Progress(progress))
        loss = trainer.train().training_loss
    learned = {**_score(prepared), **prepared.account()}
    if trainer.is_world_process_zero():
        record |= {
            "rows": len(rows),
            "sequences": prepared.sequences,
            "optimizer_steps": trainer.state.global_step,
            "trained_tokens": int(prepared.tokens * (trainer.state.epoch or 0) + 0.5),
            "loss": loss,
            "dtype": "bfloat16" if in_bf16(cell.experiment) else "float32",
            **learned,
            "seconds": time.monotonic() - began,
        }
        _save(trainer, out, record)
    trainer.accelerator.wait_for_everyone()
    return out


def _inputs(cell: Cell, rows: list[Row], start: Path | None) -> dict[str, Any]:
    """What an adapter depends on: where these are equal, it is there already."""
    experiment = cell.experiment
    return {
        "condition_name": cell.condition_name,
        "method": cell.condition.method,
        "seed": cell.seed,
        "round": cell.round,
        "model": experiment.student.model,
        "model_hash": weights_id(experiment.student.model),
        "start": "" if start is None else _file_hash(start / "adapter_model.safetensors"),
        "data_hash": digest(rows),
        "training": experiment.training.model_dump(exclude={"max_length"}),  # no row is ever cut to it
        "versions": {name: version(name) for name in PACKAGES},
    }


def _open_job(cell: Cell, start: Path | None) -> TrainingJob:
    experiment, settings = cell.experiment, cell.experiment.training
    tokenizer = load_tokenizer(experiment.student.model)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    set_seed(cell.seed)
    hf_logging.disable_progress_bar()  # ours is the one progress display
    # Weights in the type of the arithmetic: a float32 base would cost a GPU twice the memory.
    model: Any = AutoModelForCausalLM.from_pretrained(
        weights_at(experiment.student.model), dtype=torch.bfloat16 if in_bf16(experiment) else torch.float32
    )
    if start is not None:
        return TrainingJob(cell, PeftModel.from_pretrained(model, start, is_trainable=True), tokenizer, None)
    lora = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, target_modules="all-linear", task_type="CAUSAL_LM")
    return TrainingJob(cell, model, tokenizer, lora)


def _score(prepared: PreparedTrainer) -> dict[str, Any]:
    """On how many held-out pairs the student now prefers the better turn, more than the base does."""
    if prepared.held_out is None:
        return {}
    scores = prepared.trainer.evaluate()
    return {"held_out": {"pairs": len(prepared.held_out), "accuracy": scores["eval_rewards/accuracies"]}}


def _rows(cell: Cell) -> list[Row]:
    """The rows of the cell's dataset, in the order of their ids."""
    everything = read_rows(cell.experiment, cell.condition_name)
    rows = [row for row in everything if (row["seed"], row["round"]) == (cell.seed, cell.round)]
    if cell.experiment.training.regime == "matched":
        if any("matched" not in row for row in rows):
            raise ConfigError(
                f"training.regime: 'matched', but the dataset of {cell.condition_name!r} is not matched with the "
                "others. Run pipeline.datasets.matching.mark_matched once all conditions are exported."
            )
        rows = [row for row in rows if row["matched"]]
    if not rows:
        raise NothingToTrain(f"{cell}, round {cell.round}: no rows among {len(everything)} of all seeds")
    return sorted(rows, key=lambda row: row["id"])


class _Progress(TrainerCallback):
    def __init__(self, progress: StageProgress):
        self.progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            self.progress(state.global_step, state.max_steps)


def _save(trainer: Trainer, out: Path, record: dict[str, Any]) -> None:
    """Write beside `out`, then rename: a kill leaves the old folder, the new one or none."""
    for left in out.parent.glob(f".{out.name}.*"):
        shutil.rmtree(left)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        trainer.accelerator.unwrap_model(trainer.model).save_pretrained(temporary, save_embedding_layers=False)
        (temporary / "README.md").unlink(missing_ok=True)  # PEFT's empty card; training.json says what this is
        (temporary / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    except (SafetensorError, OSError) as error:
        shutil.rmtree(temporary)
        raise OSError(f"{out}: the adapter could not be saved, perhaps on a full disk ({error})") from None
    temporary.chmod(0o755)
    old = temporary.with_name(temporary.name + ".old")
    if out.exists():
        os.rename(out, old)
    os.rename(temporary, out)
    shutil.rmtree(old, ignore_errors=True)


def is_done(out: Path, record: dict[str, Any]) -> bool:
    """Whether `out` holds an adapter made from the same data, settings and start as `record` says."""
    if not (out / RECORD).is_file():
        return False
    there = json.loads((out / RECORD).read_text(encoding="utf-8"))
    same = json.loads(json.dumps({key: value for key, value in record.items() if key != "versions"}))
    return all(there.get(key) == value for key, value in same.items())


@lru_cache
def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

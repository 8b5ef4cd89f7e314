"""LoRA students through TRL's SFTTrainer, on rows whose labels are exactly the student's tokens.

An adapter folder appears whole or not at all, with `training.json` beside the weights: what it was
trained on and how. The same data, settings and start give the same bytes on a CPU, and are skipped.

    maieutic train configs/quickstart.yaml
    accelerate launch maieutic.py train configs/sharded_qwen3_0.6b.yaml     # several GPUs
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
from datasets import Dataset
from peft import LoraConfig, PeftModel
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    ProgressCallback,
    TrainerCallback,
    set_seed,
)
from transformers.utils import logging as hf_logging
from trl import SFTConfig

from pipeline.config import ConfigError, Experiment, weights_id
from pipeline.export import Row, read_rows
from pipeline.models.transformers import load_tokenizer
from pipeline.progress import Stage, stage
from pipeline.rundir import adapter_path
from pipeline.schema import digest
from training.loss import StudentTrainer
from training.masks import IGNORE, Encoded, RowTooLong, encode

RECORD = "training.json"
PACKAGES = ("torch", "transformers", "trl", "peft")


class NothingToTrain(ValueError):
    """A condition has no rows for this seed and round; it is reported as untrained."""


def train(experiment: Experiment, condition: str, seed: int, round: int = 0, start: Path | None = None) -> Path:
    """Train one student on the rows of its condition, seed and round; the adapter's folder is returned.

    `start` is the adapter to go on from (the round before's); without it LoRA starts at nothing. Returns at
    once where the adapter is there with the same data, settings and start. Raises NothingToTrain without
    rows, RowTooLong or TemplateError (training.masks) naming the row, FileNotFoundError without a dataset,
    ConfigError for settings that do not fit.
    """
    rows = _rows(experiment, condition, seed, round)
    out, settings = adapter_path(experiment, condition, seed, round), experiment.training
    record = {
        "condition": condition,
        "seed": seed,
        "round": round,
        "model": experiment.student.model,
        "model_hash": weights_id(experiment.student.model),
        "start": _start(start),
        "data_hash": digest([[row["id"], row["messages"], row["learn"]] for row in rows]),
        "training": settings.model_dump(exclude={"max_length"}),  # no row is ever cut to it
        "versions": {name: version(name) for name in PACKAGES},
    }
    if is_done(out, record):
        return out
    began = time.monotonic()
    tokenizer = load_tokenizer(experiment.student.model)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    set_seed(seed)
    hf_logging.disable_progress_bar()  # ours is the one progress display
    # Weights in the type of the arithmetic: a float32 base would cost a GPU twice the memory.
    model = AutoModelForCausalLM.from_pretrained(
        experiment.student.model, dtype=torch.bfloat16 if settings.bf16 else torch.float32
    )
    try:
        encoded = encode_rows(tokenizer, rows, _longest(experiment, model))
    except RowTooLong as error:
        raise RowTooLong(f"train {condition} seed {seed}: {error}") from None
    if not encoded:
        raise NothingToTrain(f"{condition}, seed {seed}, round {round}: no message of {len(rows)} rows carries loss")
    out.parent.mkdir(parents=True, exist_ok=True)
    with stage(f"train {condition} seed {seed}") as progress:
        trainer = _trainer(experiment, model, tokenizer, encoded, seed, start, progress)
        loss = trainer.train().training_loss
    if trainer.is_world_process_zero():
        record |= {
            "rows": len(rows),
            "sequences": len(encoded),
            "optimizer_steps": trainer.state.global_step,
            "trained_tokens": sum(label != IGNORE for row in encoded for label in row["labels"]),
            "loss": loss,
            "seconds": time.monotonic() - began,
        }
        _save(trainer, out, record)
    trainer.accelerator.wait_for_everyone()
    return out


def _rows(experiment: Experiment, condition: str, seed: int, round: int) -> list[Row]:
    everything = read_rows(experiment, condition)
    rows = [row for row in everything if (row["seed"], row["round"]) == (seed, round)]
    if experiment.training.regime == "matched":
        if any("matched" not in row for row in rows):
            raise ConfigError(
                f"training.regime: 'matched', but the dataset of {condition!r} is not matched with the "
                "others. Run pipeline.export.mark_matched once all conditions are exported."
            )
        rows = [row for row in rows if row["matched"]]
    if not rows:
        raise NothingToTrain(f"{condition}, seed {seed}, round {round}: no rows among {len(everything)} of all seeds")
    return sorted(rows, key=lambda row: row["id"])


def encode_rows(tokenizer: PreTrainedTokenizerBase, rows: list[Row], max_length: int) -> list[Encoded]:
    """All sequences of the rows, each row named in errors by its dialogue id."""
    return [one for row in rows for one in encode(tokenizer, row["messages"], row["learn"], max_length, row["id"])]


def token_counter(experiment: Experiment) -> Callable[[Row], int]:
    """How many of the student's tokens a row trains, for pipeline.export.mark_matched."""
    tokenizer = load_tokenizer(experiment.student.model)
    limit = experiment.training.max_length

    def count(row: Row) -> int:
        return sum(label != IGNORE for one in encode_rows(tokenizer, [row], limit) for label in one["labels"])

    return count


def _longest(experiment: Experiment, model: PreTrainedModel) -> int:
    return min(experiment.training.max_length, int(model.config.get_text_config().max_position_embeddings))


def _trainer(
    experiment: Experiment,
    model: PreTrainedModel | PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    encoded: list[Encoded],
    seed: int,
    start: Path | None,
    progress: Stage,
) -> StudentTrainer:
    settings, micro, accumulate = experiment.training, *batching(experiment)
    lora = None
    if start is None:
        lora = LoraConfig(
            r=settings.rank, lora_alpha=settings.alpha, target_modules="all-linear", task_type="CAUSAL_LM"
        )
    else:
        model = PeftModel.from_pretrained(model, start, is_trainable=True)
    arguments = SFTConfig(
        output_dir=str(experiment.run / "adapters"),
        seed=seed,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=accumulate,
        bf16=settings.bf16,
        gradient_checkpointing=settings.gradient_checkpointing,
        use_cpu=not torch.accelerator.is_available(),
        # Rows are encoded and measured already: nothing is to be cut, packed or tokenised again.
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        train_sampling_strategy="group_by_length",
        save_strategy="no",
        report_to="none",
        logging_steps=10,
        disable_tqdm=True,
        dataloader_pin_memory=torch.accelerator.is_available(),
        ddp_find_unused_parameters=False,
    )
    data = Dataset.from_list([dict(row) for row in encoded])
    trainer = StudentTrainer(
        model=model, args=arguments, train_dataset=data, processing_class=tokenizer, peft_config=lora
    )
    for callback in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(callback)
    trainer.add_callback(_Progress(progress))
    return trainer


def batching(experiment: Experiment) -> tuple[int, int]:
    """Rows per device and pass, and passes per optimizer step, so that a step has `training.batch` rows.

    Raises ConfigError where the number of processes (accelerate's WORLD_SIZE) does not allow that.
    """
    settings, processes = experiment.training, int(os.environ.get("WORLD_SIZE", "1"))
    micro = min(settings.micro_batch, settings.batch // processes)
    if micro < 1 or settings.batch % (micro * processes):
        raise ConfigError(
            f"training.batch: {settings.batch} is not a multiple of {max(micro, 1) * processes} "
            f"(training.micro_batch {settings.micro_batch} on {processes} process(es)). Change one of them."
        )
    return micro, settings.batch // (micro * processes)


class _Progress(TrainerCallback):
    def __init__(self, progress: Stage):
        self.progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            self.progress(state.global_step, state.max_steps)


def _save(trainer: StudentTrainer, out: Path, record: dict[str, Any]) -> None:
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


def _start(start: Path | None) -> str:
    """Which adapter training goes on from, by content."""
    return "" if start is None else _file_hash(start / "adapter_model.safetensors")


@lru_cache
def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

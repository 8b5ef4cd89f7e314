"""Supervised fine-tuning through TRL's SFTTrainer, on rows whose labels are exactly the student's tokens."""

from __future__ import annotations

from collections.abc import Callable

from datasets import Dataset
from transformers import PreTrainedTokenizerBase
from trl import SFTConfig

from pipeline.datasets.rows import Row
from pipeline.engines.transformers import load_tokenizer
from pipeline.experiment.experiment import Experiment
from training.inputs.job import PreparedTrainer, TrainingJob
from training.inputs.masks import IGNORE, Encoded, encode
from training.inputs.untrained import NothingToTrain
from training.trainers.learned_loss import StudentTrainer


def sft_trainer(job: TrainingJob, rows: list[Row]) -> PreparedTrainer:
    """A trainer on the rows' messages. Raises RowTooLong or TemplateError (training.inputs.masks) naming the row."""
    encoded = encode_rows(job.tokenizer, rows, job.max_length, job.keeps_reasoning)
    if not encoded:
        raise NothingToTrain(f"{job.cell}: no message of {len(rows)} rows carries loss")
    return trainer_on(job, encoded)


def trainer_on(job: TrainingJob, encoded: list[Encoded]) -> PreparedTrainer:
    """A trainer on sequences that are encoded already; there is at least one."""
    arguments = SFTConfig(
        **job.arguments(),
        # Rows are encoded and measured already: nothing is to be cut, packed or tokenised again.
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        train_sampling_strategy="group_by_length",
    )
    trainer = StudentTrainer(
        model=job.model,
        args=arguments,
        train_dataset=Dataset.from_list([dict(row) for row in encoded]),
        processing_class=job.tokenizer,
        peft_config=job.lora,
    )
    return PreparedTrainer(
        trainer, sequences=len(encoded), tokens=sum(label != IGNORE for row in encoded for label in row["labels"])
    )


def encode_rows(
    tokenizer: PreTrainedTokenizerBase, rows: list[Row], max_length: int, thinking: bool = False
) -> list[Encoded]:
    """All sequences of the rows, each row named in errors by its dialogue id."""
    return [
        sequence
        for row in rows
        for sequence in encode(tokenizer, row["messages"], row["learn"], max_length, row["id"], thinking)
    ]


def token_counter(experiment: Experiment) -> Callable[[Row], int]:
    """How many of the student's tokens a row trains, for pipeline.datasets.matching.mark_matched."""
    tokenizer = load_tokenizer(experiment.student.model)
    limit, keeps = experiment.training.max_length, experiment.student.thinking == "keep"

    def count(row: Row) -> int:
        encoded = encode_rows(tokenizer, [row], limit, keeps)
        return sum(label != IGNORE for sequence in encoded for label in sequence["labels"])

    return count

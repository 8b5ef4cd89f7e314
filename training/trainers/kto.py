"""Learning from how dialogues end: KTO on whole dialogues, through TRL's trainer.

It is given ids that are encoded here, as a sampler reads and writes them, and TRL tokenises nothing again: what is
scored is what was sampled, the student's own tokens and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from datasets import Dataset
from trl import KTOConfig, KTOTrainer
from trl.trainer.kto_trainer import DataCollatorForUnpairedPreference

from pipeline.core.errors import ConfigError
from pipeline.datasets.rows import Row
from training.inputs.job import PreparedTrainer, TrainingJob
from training.inputs.masks import IGNORE, encode
from training.inputs.untrained import NothingToTrain


class DialogueTrainer(KTOTrainer):
    """KTOTrainer on datasets that are encoded already, with what `DialogueCollator` reads."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset


@dataclass
class DialogueCollator(DataCollatorForUnpairedPreference):
    """TRL's, but of a completion only what the student said is scored (`learned`), not the partner's turns."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        output = super().torch_call(examples)
        for prefix in ("", "KL_"):
            for i, example in enumerate(examples):
                begin, learned = len(example["prompt_ids"]), example[f"{prefix}learned"]
                output[f"{prefix}completion_mask"][i, begin : begin + len(learned)] = torch.tensor(learned)
        return output


def kto_trainer(job: TrainingJob, rows: list[Row]) -> PreparedTrainer:
    """KTO (Ethayarajh et al. 2024) on whole dialogues, resolved or not; the rarer kind weighs as much as the other.

    Where a template rewrites earlier turns (Qwen3 drops their thoughts) each stretch that it leaves alone is an example
    with its dialogue's label: a long dialogue has several.
    """
    examples = [example for row in rows for example in _encode_row(job, row)]
    labels = Counter(example["label"] for example in examples)
    if len(labels) < 2:
        raise NothingToTrain(
            f"{job.cell}: {labels[True]} of {len(examples)} dialogues were resolved, and KTO needs both kinds"
        )
    arguments = job.arguments()
    size = arguments["per_device_train_batch_size"]
    if size < 2:
        raise ConfigError(f"training.micro_batch: {size}: KTO compares rows of one pass, 2 or more are expected")
    # TRL goes through the rows in order, and its KL term pairs neighbours: a shuffled order is part of the method.
    shuffled = Dataset.from_list(examples).shuffle(seed=job.cell.seed)
    if len(shuffled) % size == 1:  # alone in the last pass it would be compared with itself
        (kind, _), *_ = labels.most_common()
        last = max(i for i, label in enumerate(shuffled["label"]) if label == kind)
        shuffled = shuffled.select([i for i in range(len(shuffled)) if i != last])
    resolved, unresolved = (sum(label == kind for label in shuffled["label"]) for kind in (True, False))
    trainer = DialogueTrainer(
        model=job.model,
        args=KTOConfig(
            **arguments,
            beta=job.experiment.training.beta,
            max_length=None,
            desirable_weight=max(1.0, unresolved / resolved),
            undesirable_weight=max(1.0, resolved / unresolved),
            remove_unused_columns=False,
        ),
        train_dataset=shuffled.map(_with_neighbour, batched=True, batch_size=size),
        data_collator=DialogueCollator(pad_token_id=job.tokenizer.pad_token_id),
        processing_class=job.tokenizer,
        peft_config=job.lora,
    )
    return PreparedTrainer(trainer, sequences=len(shuffled), tokens=sum(map(sum, shuffled["learned"])))


def _encode_row(job: TrainingJob, row: Row) -> Iterator[dict[str, Any]]:
    messages = [*row["prompt"], *row["completion"]]
    learn = [False] * len(row["prompt"]) + row["learn"]
    for sequence in encode(job.tokenizer, messages, learn, job.max_length, row["id"], job.keeps_reasoning):
        begin = next(i for i, label in enumerate(sequence["labels"]) if label != IGNORE)
        yield {
            "prompt_ids": sequence["input_ids"][:begin],
            "completion_ids": sequence["input_ids"][begin:],
            "learned": [int(label != IGNORE) for label in sequence["labels"][begin:]],
            "label": row["label"],
        }


def _with_neighbour(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Each prompt with the completion before it in the batch, for the KL term (section 4.1)."""
    return {f"KL_{key}": [batch[key][-1], *batch[key][:-1]] for key in ("completion_ids", "learned")}

"""Learning from what came of a turn: DPO on pairs of siblings, KTO on whole dialogues, through TRL's trainers.

Both are given ids that are encoded here, as a sampler reads and writes them, and TRL tokenises nothing again:
what is scored is what was sampled, the student's own tokens and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from datasets import Dataset
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer
from trl.trainer.kto_trainer import DataCollatorForUnpairedPreference

from pipeline.core.errors import ConfigError
from pipeline.core.schema import digest
from pipeline.datasets.rows import Row
from training.lesson import Lesson, NothingToTrain, Pupil
from training.masks import IGNORE, encode


class PairTrainer(DPOTrainer):
    """DPOTrainer on datasets that are encoded already: prompt_ids, chosen_ids and rejected_ids."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset


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


def pairs(pupil: Pupil, rows: list[Row]) -> Lesson:
    """DPO (Rafailov et al. 2023). Pairs of a held-out share of the tasks are scored and not learned."""
    encoded = [_encode_pair(pupil, row) for row in rows]
    settings = pupil.experiment.training
    # By task, never by row: two branches of one conversation never stand on both sides.
    apart = [int(digest("held out", row["task_id"], length=8), 16) < settings.held_out * 2**32 for row in rows]
    learned = [one for one, held in zip(encoded, apart, strict=True) if not held]
    held_out = [one for one, held in zip(encoded, apart, strict=True) if held]
    if not learned:
        raise NothingToTrain(f"{pupil.condition_name}, seed {pupil.seed}: no pairs to learn among {len(rows)}")
    trainer = PairTrainer(
        model=pupil.model,
        args=DPOConfig(**pupil.arguments(), beta=settings.beta, max_length=None),
        train_dataset=Dataset.from_list(learned),
        eval_dataset=Dataset.from_list(held_out) if held_out else None,
        processing_class=pupil.tokenizer,
        peft_config=pupil.lora,
    )
    tokens = sum(len(one["chosen_ids"]) + len(one["rejected_ids"]) for one in learned)
    return Lesson(trainer, len(learned), tokens, Dataset.from_list(held_out) if held_out else None)


def _encode_pair(pupil: Pupil, row: Row) -> dict[str, list[int]]:
    prompt, chosen = _last_turn(pupil, [*row["prompt"], *row["chosen"]], row["id"])
    _, rejected = _last_turn(pupil, [*row["prompt"], *row["rejected"]], row["id"])
    return {"prompt_ids": prompt, "chosen_ids": chosen, "rejected_ids": rejected}


def _last_turn(pupil: Pupil, messages: list[Any], name: str) -> tuple[list[int], list[int]]:
    """Ids before the last message's content, and of that content with its end-of-turn token."""
    learn = [False] * (len(messages) - 1) + [True]
    (one,) = encode(pupil.tokenizer, messages, learn, pupil.longest, name)
    begin = next(i for i, label in enumerate(one["labels"]) if label != IGNORE)
    return one["input_ids"][:begin], one["input_ids"][begin:]


def verdicts(pupil: Pupil, rows: list[Row]) -> Lesson:
    """KTO (Ethayarajh et al. 2024) on whole dialogues, resolved or not; the rarer kind weighs as much as the other."""
    examples = []
    for row in rows:
        messages = [*row["prompt"], *row["completion"]]
        learn = [False] * len(row["prompt"]) + row["learn"]
        for one in encode(pupil.tokenizer, messages, learn, pupil.longest, row["id"]):
            begin = next(i for i, label in enumerate(one["labels"]) if label != IGNORE)
            examples.append(
                {
                    "prompt_ids": one["input_ids"][:begin],
                    "completion_ids": one["input_ids"][begin:],
                    "learned": [int(label != IGNORE) for label in one["labels"][begin:]],
                    "label": row["label"],
                }
            )
    good = sum(one["label"] for one in examples)
    if not 0 < good < len(examples):
        raise NothingToTrain(
            f"{pupil.condition_name}, seed {pupil.seed}: {good} of {len(examples)} dialogues were resolved, and "
            f"KTO needs "
            "both kinds"
        )
    # TRL goes through the rows in order, and its KL term pairs neighbours: a shuffled order is part of the method.
    shuffled = Dataset.from_list(examples).shuffle(seed=pupil.seed)
    arguments = pupil.arguments()
    size = arguments["per_device_train_batch_size"]
    if size < 2:
        raise ConfigError(f"training.micro_batch: {size}: KTO compares rows of one pass, 2 or more are expected")
    bad = len(examples) - good
    trainer = DialogueTrainer(
        model=pupil.model,
        args=KTOConfig(
            **arguments,
            beta=pupil.experiment.training.beta,
            max_length=None,
            desirable_weight=max(1.0, bad / good),
            undesirable_weight=max(1.0, good / bad),
            remove_unused_columns=False,
        ),
        train_dataset=shuffled.map(_with_neighbour, batched=True, batch_size=size),
        data_collator=DialogueCollator(pad_token_id=pupil.tokenizer.pad_token_id),
        processing_class=pupil.tokenizer,
        peft_config=pupil.lora,
    )
    return Lesson(trainer, len(examples), sum(sum(one["learned"]) for one in examples))


def _with_neighbour(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Each prompt with the completion before it in the batch, for the KL term (section 4.1)."""
    return {f"KL_{key}": [batch[key][-1], *batch[key][:-1]] for key in ("completion_ids", "learned")}

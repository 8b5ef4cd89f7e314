"""Learning from the values of turns: DPO on pairs of siblings, or of a partner's candidates, through TRL's trainer.

It is given ids that are encoded here, as a sampler reads and writes them, and TRL tokenises nothing again: what is
scored is what was sampled, the speaker's own tokens and nothing else.
"""

from __future__ import annotations

from typing import Any

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from pipeline.core.schema import digest
from pipeline.datasets.rows import Row
from pipeline.runs.progress import say
from training.inputs.job import PreparedTrainer, TrainingJob
from training.inputs.masks import IGNORE, encode
from training.inputs.untrained import NothingToTrain


class PairTrainer(DPOTrainer):
    """DPOTrainer on datasets that are encoded already: prompt_ids, chosen_ids and rejected_ids."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset


def dpo_trainer(job: TrainingJob, rows: list[Row]) -> PreparedTrainer:
    """DPO (Rafailov et al. 2023). Pairs of a held-out share of the tasks are scored and not learned."""
    settings = job.experiment.training
    learned, held_out, unlike = list[dict[str, list[int]]](), list[dict[str, list[int]]](), 0
    for row in rows:
        pair = _encode_pair(job, row)
        if pair is None:
            unlike += 1
            continue
        # By task, never by row: two branches of one conversation never stand on both sides.
        is_held_out = int(digest("held out", row["task_id"], length=8), 16) < settings.held_out * 2**32
        (held_out if is_held_out else learned).append(pair)
    if unlike:
        say(
            f"{job.cell.label('train')}: {unlike} of {len(rows)} pairs are left out. One of their turns reasons and "
            "the other does not, so that the two answer unlike prompts"
        )
    if not learned:
        raise NothingToTrain(f"{job.cell}: no pairs to learn among {len(rows)}")
    scored = Dataset.from_list(held_out) if held_out else None
    trainer = PairTrainer(
        model=job.model,
        args=DPOConfig(
            **job.arguments(),
            beta=settings.beta,
            max_length=None,
            # TRL averages over batches, so that a smaller last one would weigh as much as the others.
            per_device_eval_batch_size=max(size for size in range(1, 9) if len(held_out) % size == 0),
        ),
        train_dataset=Dataset.from_list(learned),
        eval_dataset=scored,
        processing_class=job.tokenizer,
        peft_config=job.lora,
    )
    tokens = sum(len(pair["chosen_ids"]) + len(pair["rejected_ids"]) for pair in learned)
    return PreparedTrainer(trainer, sequences=len(learned), tokens=tokens, held_out=scored)


def _encode_pair(job: TrainingJob, row: Row) -> dict[str, list[int]] | None:
    """None where the two answer unlike prompts: an empty thought stands in the prompt of a turn that has none."""
    prompt, chosen = _last_turn(job, [*row["prompt"], *row["chosen"]], row["id"])
    of_rejected, rejected = _last_turn(job, [*row["prompt"], *row["rejected"]], row["id"])
    if of_rejected != prompt:
        return None
    return {"prompt_ids": prompt, "chosen_ids": chosen, "rejected_ids": rejected}


def _last_turn(job: TrainingJob, messages: list[Any], name: str) -> tuple[list[int], list[int]]:
    """Ids before the last message's content, and of that content with its end-of-turn token."""
    learn = [False] * (len(messages) - 1) + [True]
    (sequence,) = encode(job.tokenizer, messages, learn, job.max_length, name, job.keeps_reasoning)
    begin = next(i for i, label in enumerate(sequence["labels"]) if label != IGNORE)
    return sequence["input_ids"][:begin], sequence["input_ids"][begin:]

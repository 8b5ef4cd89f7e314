"""Learning what comes after the answer: Post-Completion Learning (Fei et al., arXiv 2507.20252), its supervised part.

Behind the end of the student's last turn stands its own check of the answer that it came to, with loss. Two tracks, as
in the paper: of a dialogue that ends right the student learns its turns and the check, of one that ends wrong the check
alone. When it speaks, generation stops at the end token, so the check is never sampled and costs no token.

Left out of the paper: its reinforcement learning, which rewards a check for agreeing with the reward functions and is
mixed with rewards for the answer; reasons before the check, and checks of format and consistency beside the answer's; a
token of its own before the check, since the turn's end token does for it.

    maieutic run configs/methods.yaml     # facts_post_completion beside facts
"""

from __future__ import annotations

from pipeline.datasets.rows import Row
from training.inputs.job import PreparedTrainer, TrainingJob
from training.inputs.masks import Encoded, encode
from training.inputs.untrained import NothingToTrain
from training.trainers.sft import trainer_on

# In words that an embedded base knows: LoRA leaves embeddings alone, and a token that was never met stays unlikely.
CHECKS = {True: "\nThe answer is right.", False: "\nThe answer is wrong."}


def post_completion_trainer(job: TrainingJob, rows: list[Row]) -> PreparedTrainer:
    """A trainer on labelled dialogues and their checks. Raises as `sft_trainer`, NothingToTrain without both kinds."""
    right = sum(row["label"] for row in rows)
    if not right or right == len(rows):
        raise NothingToTrain(
            f"{job.cell}: {right} of {len(rows)} dialogues ended right; a check that is always the same teaches nothing"
        )
    return trainer_on(job, [sequence for row in rows for sequence in encode_row(job, row)])


def encode_row(job: TrainingJob, row: Row) -> list[Encoded]:
    """The dialogue with its check behind it; of one that ended wrong the check alone carries loss."""
    messages = [*row["prompt"], *row["completion"]]
    learn = [False] * len(row["prompt"]) + [own and row["label"] for own in row["learn"]]
    return encode(
        job.tokenizer,
        messages,
        learn,
        job.max_length,
        row["id"],
        job.keeps_reasoning,
        after=CHECKS[row["label"]],
    )

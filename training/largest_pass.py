"""The largest pass that an experiment's trainings make, and the memory that one process needs for it."""

from __future__ import annotations

from typing import NamedTuple

import torch

from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE, Method
from training.inputs.job import batching, in_bf16
from training.memory_needed import Memory, Sizes, training_memory

BY_SFT: tuple[Method, ...] = ("sft", "monologue", "q_priming", "post_completion", "expert")  # one trainer learns them


class Pass(NamedTuple):
    """Sequences, tokens of each, and tokens of all that carry loss."""

    method: Method
    rows: int
    length: int
    learned: int


def largest_pass(experiment: Experiment, sizes: Sizes) -> Pass:
    """Of the method whose pass has most tokens, all as long as training.max_length allows, or as what is played may
    come to, to which the context alone is a limit."""
    settings, dialogue = experiment.training, experiment.dialogue
    passes = []
    for method in {condition.method for condition in experiment.conditions.values()}:
        turns = dialogue.turns if method in (*BY_SFT, "kto", "grpo") else 1
        rows = batching(experiment, method)[0] * (2 if method.startswith("dpo") else 1)  # a pair is two sequences
        learned = rows * min(turns * dialogue.max_tokens, settings.max_length)
        played = turns * (experiment.answer_tokens("student") + experiment.answer_tokens("partner"))
        length = max(settings.max_length, min(played, sizes.context)) if method in ONLINE else settings.max_length
        passes.append(Pass(method, rows, length, learned))
    return max(passes, key=lambda each: (each.rows * each.length, each.learned))


def memory_of(experiment: Experiment, sizes: Sizes) -> Memory:
    """Bytes of one process, of a student of these sizes."""
    largest, settings = largest_pass(experiment, sizes), experiment.training
    return training_memory(
        sizes,
        largest.rows,
        largest.length,
        largest.learned,
        in_bf16(experiment),
        settings.load_in_4bit,
        settings.gradient_checkpointing,
        tiled=torch.cuda.is_available() or largest.method not in BY_SFT,
    )

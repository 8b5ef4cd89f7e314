"""How long a student learns while it plays: as many sampled tokens as the pool took that other methods learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Method
from pipeline.runs.dialogue_pool import Spent
from training.inputs.job import rows_per_step


def dialogues_per_step(experiment: Experiment, method: Method) -> int:
    """Dialogues that are sampled for one optimizer step."""
    return rows_per_step(experiment, method) * (experiment.turn_values.rollouts if method == "grpo_turn" else 1)


def optimizer_steps(experiment: Experiment, method: Method, tasks: int, prompts: int, pool: Spent | None) -> int:
    """Optimizer steps, so that as many tokens are sampled as for the `pool` that the other methods learn from, if
    dialogues stay as long as they are there; without one, as many dialogues as it would have of so many tasks.

    `prompts` are where they begin: one for each task, or for each of an expert's steps.
    """
    if prompts < experiment.training.grpo.tasks_per_step:
        return 0
    if pool is None:
        dialogues = tasks * experiment.dialogue.per_task * (1 + experiment.turn_values.dialogues)
        return dialogues // dialogues_per_step(experiment, method)
    later = {"grpo": 1, "grpo_turn": experiment.turn_values.rollouts}.get(method, 0)
    return int(pool.tokens // (rows_per_step(experiment, method) * (pool.first + later * pool.later)))


class Budget(TrainerCallback):
    """Ends the training when as many tokens were sampled as for the pool: dialogues may have become longer."""

    def __init__(self, tokens: int, sampled: Callable[[], int]):
        self.tokens, self.sampled = tokens, sampled

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.sampled() >= self.tokens:
            control.should_training_stop = True

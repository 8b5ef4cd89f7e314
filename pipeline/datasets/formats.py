"""TRL's dataset formats: the columns of each, and the rows that a condition has in it.

maieutic build configs/quickstart.yaml                              # what its method learns from
maieutic export configs/quickstart.yaml prompt_completion           # the same dialogues in another format
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from datasets import Features, List, Value

from pipeline.building.turn_values import has_ledger
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task
from pipeline.datasets.rejection_sampling import kept, select_pool, within
from pipeline.datasets.rows import (
    Row,
    before_steps,
    informed,
    labelled,
    monologue,
    opening,
    pairs,
    replies,
    to_row,
)
from pipeline.experiment.assignment import tasks_of
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE, Method
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.runs.pool import Pool, ledger_path
from pipeline.runs.store import read
from pipeline.tasks.loading import stream_tasks

Format = Literal["sft", "prompt_completion", "preference", "unpaired_preference", "prompt_only", "privileged_context"]
_MESSAGES = List({"role": Value("string"), "content": Value("string")})
_WHENCE = {
    "id": Value("string"),
    "task_id": Value("string"),
    "seed": Value("int64"),
    "round": Value("int64"),
    "specification": Value("string"),
}
_LEARN = List(Value("bool"))
# Each a folder of datasets/<condition>/.
FORMATS: dict[Format, Features] = {
    "sft": Features({**_WHENCE, "messages": _MESSAGES, "learn": _LEARN}),
    "prompt_completion": Features({**_WHENCE, "prompt": _MESSAGES, "completion": _MESSAGES}),
    "preference": Features(
        {**_WHENCE, "prompt": _MESSAGES, "chosen": _MESSAGES, "rejected": _MESSAGES, "margin": Value("float64")}
    ),
    "unpaired_preference": Features(
        {**_WHENCE, "prompt": _MESSAGES, "completion": _MESSAGES, "label": Value("bool"), "learn": _LEARN}
    ),
    "prompt_only": Features({**_WHENCE, "prompt": _MESSAGES}),
    "privileged_context": Features({**_WHENCE, "prompt": _MESSAGES, "privileged_context": Value("string")}),
}
FORMAT_OF: dict[Method, Format] = {
    "sft": "sft",
    "monologue": "sft",
    "q_priming": "sft",
    "dpo": "preference",
    "dpo_answer": "preference",
    "kto": "unpaired_preference",
    "grpo": "prompt_only",
    "grpo_turn": "prompt_only",
    "grpo_next": "prompt_only",
    "grpo_step": "prompt_only",
}
SELECTED = ("sft", "prompt_completion")  # the others have what selection would drop, too


class NotExportable(ConfigError):
    """A condition has nothing in a format; the message says why."""


def pool_of(experiment: Experiment, condition_name: str, format: Format) -> Pool:
    """The dialogues that a condition's rows in a format are made of."""
    return select_pool(experiment, condition_name) if format in SELECTED else Pool(experiment, condition_name)


def rows(experiment: Experiment, condition_name: str, format: Format) -> tuple[int, Iterator[list[Row]]]:
    """How many records a condition has for a format, and the rows of each; none where it teaches nothing.

    Raises NotExportable.
    """
    condition = experiment.conditions[condition_name]
    if format == "prompt_only":
        if condition.memory != "none":  # its tasks come with memories, which the dialogues hold
            own = [d for d in read(Pool(experiment, condition_name).own, Dialogue) if not d.sample and not d.round]
            return len(own), (opening(Cell(experiment, d.condition_name, d.seed), d.task) for d in own)
        begin = before_steps if condition.method == "grpo_step" else opening
        return len(experiment.seeds) * sum(1 for _ in _playable(experiment, condition_name)), (
            begin(cell, task)
            for cell in cells(experiment, [condition_name], 0)
            for task in _playable(experiment, condition_name)
        )
    if condition.method in ONLINE:
        raise NotExportable(
            f"{condition_name}: method {condition.method!r} plays while it learns, and stores no dialogues"
        )
    source, learnable = condition.learns_from or condition_name, within(experiment, condition_name)
    if format == "preference":
        if not has_ledger(experiment, source):
            raise NotExportable(
                f"{condition_name}: pairs are siblings of a turn, and it has no ledger. Set ledger.siblings, "
                f"for example to "
                "4; q_priming, partition script and imported dialogues have none"
            )
        path, by_answer = ledger_path(experiment.run, source), condition.method == "dpo_answer"
        paired = (pairs(experiment, b, by_answer) if learnable(b) else [] for b in read(path, Branch))
        return sum(1 for _ in read(path, Branch)), paired
    if format == "privileged_context" and not condition.row.informs:
        raise NotExportable(
            f"{condition_name}: in partition {condition.partition!r} nobody knows more than the student"
        )

    def made(dialogue: Dialogue) -> list[Row]:
        if not learnable(dialogue):
            return []
        if format == "privileged_context":
            return informed(experiment, dialogue)
        if format == "unpaired_preference":
            row = labelled(experiment, dialogue, kept(dialogue, condition))
        else:
            row = (monologue if condition.method == "monologue" else to_row)(experiment, dialogue)
        if row is None:
            return []
        return replies(row) if format == "prompt_completion" else [row]

    pool = pool_of(experiment, condition_name, format)
    return len(pool), map(made, pool)


def _playable(experiment: Experiment, condition_name: str) -> Iterator[Task]:
    """The tasks of a condition that can be played: a partner that believes a wrong answer needs one, and step rewards
    need an expert who had no other facts than the student."""
    condition = experiment.conditions[condition_name]
    for task in tasks_of(experiment, condition_name, stream_tasks(experiment.tasks, "train")[0]):
        stepwise = condition.method != "grpo_step" or (task.steps and not task.missing)
        if stepwise and (task.wrong_answer or not condition.row.believes_false_key):
            yield task

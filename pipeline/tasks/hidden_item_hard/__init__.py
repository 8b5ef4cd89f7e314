"""The hard ones of the source `hidden_item` alone, so that a condition can play those and no others.

tasks: {source: hidden_item, second: {source: hidden_item_hard, seed: 1, train: {full: 300}}}
conditions: {key_hard: {partition: key, sources: [hidden_item_hard]}}
"""

from __future__ import annotations

from dataclasses import replace

from pipeline.core.schema import Task
from pipeline.tasks.hidden_item import SOURCE as HIDDEN_ITEM
from pipeline.tasks.hidden_item import make_of
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Split

NAME = "hidden_item_hard"


def make(settings: Tasks, split: Split) -> list[Task]:
    """The tasks of one split, which bear this source's name. Raises ConfigError as hidden_item does."""
    tasks = make_of(settings, split, strata=("hard",))
    return [
        task.model_copy(update={"source": NAME, "id": task.id.replace(HIDDEN_ITEM.name, NAME, 1)}) for task in tasks
    ]


SOURCE = replace(HIDDEN_ITEM, name=NAME, make=make, unlike=None)

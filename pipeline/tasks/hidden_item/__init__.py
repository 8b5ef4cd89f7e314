"""Hidden items: one of 4 to 12 options that stand in the question, which facts narrow down, told or withheld.

tasks: {source: hidden_item, train: {full: 600, underspecified: 600}}
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Specification, Task
from pipeline.tasks.hidden_item.hidden_item_tasks import HAS, hidden_item_tasks
from pipeline.tasks.hidden_item.item_words import item_words
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source, Split

KINDS = tuple(item_words().attributes)
LEFT = 3  # attributes that have to be left for options to have


def make(settings: Tasks, split: Split) -> list[Task]:
    """The tasks of one split. Raises ConfigError where attributes are held out that cannot be."""
    return make_of(settings, split, strata=("easy", "hard"))


def make_of(settings: Tasks, split: Split, strata: Collection[str]) -> list[Task]:
    """Those of some difficulties."""
    held_out = set(settings.held_out)
    if held_out - set(KINDS) or len(set(KINDS) - held_out) < LEFT:
        raise ConfigError(
            f"tasks.held_out: {list(settings.held_out)} must be attributes of hidden items, and leave {LEFT} of them. "
            f"Known: {', '.join(KINDS)}."
        )
    counts, tasks = settings.exam if split == "exam" else settings.train, list[Task]()
    for name, count in counts.items():
        made = hidden_item_tasks(split, name, settings.seed, without=settings.held_out)
        tasks += itertools.islice((task for task in made if task.stratum in strata), count)
    return tasks


def unlike(settings: Tasks, stress: int, held_out: int) -> list[Task]:
    """Of the twins' specifications in the exam so many tasks in held-out wordings, and so many that turn on a held-out
    attribute."""
    tasks = list[Task]()
    for name in [name for name in settings.exam if name != "overspecified"]:
        worded = hidden_item_tasks("exam", name, settings.seed, held_out=True, without=settings.held_out)
        tasks += itertools.islice(worded, stress)
        tasks += itertools.islice(_turning_on(settings, name), held_out)
    return tasks


def _turning_on(settings: Tasks, name: Specification) -> Iterator[Task]:
    """Those whose item an attribute that is held out decides."""
    made = hidden_item_tasks("exam", name, settings.seed)
    return (task for task in made if task.kind in settings.held_out)


SOURCE = Source(
    "hidden_item",
    HAS,
    make=make,
    licence=Licence("mit", "The problems are procedural, made by this project (MIT)."),
    has_facts=True,
    has_steps=True,
    has_options=True,
    closed=True,
    worded=True,
    kinds=KINDS,
    has_base=True,
    unlike=unlike,
)

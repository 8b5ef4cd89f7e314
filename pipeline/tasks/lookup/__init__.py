"""Short everyday texts in natural English, and questions that one sentence of them answers, or two together.

tasks: {source: lookup, train: {full: 600, underspecified: 600}}
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Specification, Task
from pipeline.tasks.lookup.lookup_tasks import HAS, lookup_tasks
from pipeline.tasks.lookup.words import words
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source, Split

KINDS = tuple(words().kinds)


def make(settings: Tasks, split: Split) -> list[Task]:
    """The tasks of one split. Raises ConfigError where kinds are held out that cannot be."""
    held_out = set(settings.held_out)
    if held_out - set(KINDS) or held_out == set(KINDS):
        raise ConfigError(
            f"tasks.held_out: {list(settings.held_out)} must be kinds of look-ups, and not all of them. "
            f"Known: {', '.join(KINDS)}."
        )
    counts = settings.exam if split == "exam" else settings.train
    return [
        task
        for name, count in counts.items()
        for task in itertools.islice(_of_kinds(settings, split, name, held_out=False), count)
    ]


def unlike(settings: Tasks, stress: int, held_out: int) -> list[Task]:
    """Of each specification of the exam so many tasks in held-out wordings, and so many of the held-out kinds."""
    tasks = list[Task]()
    for name in settings.exam:
        worded = lookup_tasks("exam", name, settings.seed, held_out=True)
        tasks += itertools.islice((task for task in worded if task.kind not in settings.held_out), stress)
        tasks += itertools.islice(_of_kinds(settings, "exam", name, held_out=True), held_out)
    return tasks


def _of_kinds(settings: Tasks, split: Split, name: Specification, held_out: bool) -> Iterator[Task]:
    """Those of the held-out kinds, or all others."""
    made = lookup_tasks(split, name, settings.seed)
    return (task for task in made if (task.kind in settings.held_out) == held_out)


SOURCE = Source(
    "lookup",
    HAS,
    make=make,
    licence=Licence("mit", "The texts are procedural, made by this project (MIT)."),
    has_facts=True,
    has_steps=True,
    has_base=True,
    worded=True,
    kinds=KINDS,
    unlike=unlike,
)

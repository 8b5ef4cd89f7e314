"""The embedded source: word problems of `pipeline.tasks.word_problems`, made as they are wanted, from a seed.

maieutic preview configs/quickstart.yaml
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Collection, Iterator

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Specification, Task
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source, Split
from pipeline.tasks.word_problems import HELD_OUT_WORDING, KINDS, embedded_tasks, first_number, make_task, numbers_of


class Embedded(Collection[Task]):
    """The embedded tasks of one split, made anew whenever they are gone through: none is held but for its number, which
    takes most of the work to find."""

    def __init__(self, split: Split, counts: dict[Specification, int], seed: int, held_out: tuple[str, ...]):
        self.split, self.counts, self.seed, self.held_out = split, counts, seed, held_out
        self._found = {False: array("q"), True: array("q")}  # by whether the premise is false: all others are twins

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Task]:
        for name, count in self.counts.items():
            yield from (make_task(self._number(name, i), name) for i in range(count))

    def _number(self, name: Specification, i: int) -> int:
        """Of the task number `i` of a specification."""
        found = self._found[name == "false_premise"]
        while len(found) <= i:
            start = found[-1] + 1 if found else first_number(self.seed)
            numbers = numbers_of(self.split, name, start)
            found.append(next(number for number, kind in numbers if kind not in self.held_out))
        return found[i]

    def __contains__(self, task: object) -> bool:
        return any(task == mine for mine in self)


def make(settings: Tasks, split: Split) -> Embedded:
    """The tasks of one split. Raises ConfigError where kinds are held out that cannot be."""
    kinds, held_out = set(KINDS), set(settings.held_out)
    if held_out - kinds or held_out == kinds:
        raise ConfigError(
            f"tasks.held_out: {list(settings.held_out)} must be kinds of embedded problems, and not all of them. "
            f"Known: {', '.join(KINDS)}."
        )
    if "left" in held_out and "false_premise" in settings.train.keys() | settings.exam.keys():
        raise ConfigError(
            "tasks.held_out: 'left' is the kind of all false_premise problems, which tasks.train or tasks.exam asks "
            "for. Leave out one or the other."
        )
    return Embedded(split, settings.exam if split == "exam" else settings.train, settings.seed, settings.held_out)


def unlike(settings: Tasks, stress: int, held_out: int) -> list[Task]:
    """Of each specification of the exam so many tasks in the held-out wording, and so many of the held-out kinds."""
    tasks = list[Task]()
    for name in settings.exam:
        worded = embedded_tasks("exam", name, settings.seed, wordings=(HELD_OUT_WORDING,))
        tasks += itertools.islice((task for task in worded if task.kind not in settings.held_out), stress)
        if name != "false_premise":  # of which there is one kind
            others = embedded_tasks("exam", name, settings.seed)
            tasks += itertools.islice((task for task in others if task.kind in settings.held_out), held_out)
    return tasks


SOURCE = Source(
    "embedded",
    ("full", "underspecified", "false_premise"),
    make=make,
    licence=Licence("mit", "The problems are procedural, made by this project (MIT)."),
    has_facts=True,
    has_steps=True,
    has_base=True,
    closed=True,
    kinds=tuple(KINDS),
    unlike=unlike,
)

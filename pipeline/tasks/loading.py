"""Task sources: `load_tasks` gives the problems of one split, from whichever source the config names.

A new source is a module with `read(settings) -> (tasks, bad rows)` and a line in `REAL`. Of real
sources the split is made by a hash of the full question, before any generation and alike in all of
them, so what one source trains on is never examined in another.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Literal

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Specification, Task, digest, question_hash
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks import gsm8k, mathdial, posed, sharded, stepverify
from pipeline.tasks.code import functions
from pipeline.tasks.embedded import KINDS, embedded_tasks
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.settings import Tasks

__all__ = ["BadRow", "load_dialogues", "load_tasks", "stream_tasks"]

REAL = {
    "code": functions.read,
    "gsm8k": gsm8k.read,
    "mathdial": mathdial.read,
    "posed": posed.read,
    "sharded": sharded.read,
    "stepverify": stepverify.read,
}
SPECIFICATIONS: dict[str, tuple[Specification, ...]] = {
    "code": functions.HAS,
    "embedded": ("full", "underspecified", "false_premise"),
    "gsm8k": ("full",),
    "mathdial": ("full",),
    "posed": posed.HAS,
    "sharded": ("full", "sharded"),
    "stepverify": ("full",),
}


def load_tasks(settings: Tasks, split: Literal["train", "exam"]) -> tuple[list[Task], list[BadRow]]:
    """All tasks of `stream_tasks`, held."""
    tasks, bad = stream_tasks(settings, split)
    return list(tasks), bad


def stream_tasks(settings: Tasks, split: Literal["train", "exam"]) -> tuple[Collection[Task], list[BadRow]]:
    """Up to as many tasks per specification as `settings.train` or `settings.exam` says, twins sharing questions.

    Which ones is drawn by `settings.seed`; no question comes a second time (in another sharding or
    scenario) before all have come once. The bad rows are those of the whole file, whatever the split.
    Those of `settings.second` come after them. Raises ConfigError for a file that cannot be read and a specification
    that the source does not have.
    """
    tasks, bad = of_one_source(settings, split)
    if settings.second is None:
        return tasks, bad
    more, also_bad = of_one_source(settings.second, split)
    return [*tasks, *more], [*bad, *also_bad]


def of_one_source(settings: Tasks, split: Literal["train", "exam"]) -> tuple[Collection[Task], list[BadRow]]:
    counts = settings.train if split == "train" else settings.exam
    for name in counts:
        if name not in SPECIFICATIONS[settings.source]:
            raise ConfigError(
                f"tasks.{split}.{name}: source {settings.source!r} has no {name!r} tasks. "
                f"It has: {', '.join(SPECIFICATIONS[settings.source])}."
            )
    if settings.source == "embedded":
        return Embedded(split, counts, settings.seed, _held_out(settings)), []
    if settings.made_code:
        return [
            t
            for name, n in counts.items()
            for t in itertools.islice(functions.code_tasks(split, name, settings.seed), n)
        ], []
    tasks, bad = REAL[settings.source](settings)
    found = [
        task
        for name, count in counts.items()
        for task in _draw(
            [task for task in tasks if task.split == split and task.specification == name], settings.seed
        )[:count]
    ]
    return found, bad


def _held_out(settings: Tasks) -> tuple[str, ...]:
    """Kinds of embedded problems that neither training nor the exam's own tasks have. Raises ConfigError."""
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
    return settings.held_out


class Embedded(Collection[Task]):
    """The embedded tasks of one split, made anew whenever they are gone through: none is held."""

    def __init__(
        self,
        split: Literal["train", "exam"],
        counts: dict[Specification, int],
        seed: int,
        held_out: tuple[str, ...],
    ):
        self.split, self.counts, self.seed, self.held_out = split, counts, seed, held_out

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Task]:
        for name, count in self.counts.items():
            made = embedded_tasks(self.split, name, self.seed)
            yield from itertools.islice((task for task in made if task.kind not in self.held_out), count)

    def __contains__(self, task: object) -> bool:
        return any(task == mine for mine in self)


def _draw(tasks: list[Task], seed: int) -> list[Task]:
    repeats: dict[str, int] = {}
    keyed = []
    for task in tasks:
        question = question_hash(task.full_question)
        repeats[question] = repeats.get(question, 0) + 1
        keyed.append((repeats[question], digest(seed, question), task))
    return [task for *_, task in sorted(keyed, key=lambda item: item[:2])]


def load_dialogues(
    settings: Tasks, condition_name: str, condition: Condition, seed: int
) -> tuple[list[Dialogue], list[BadRow]]:
    """Imported dialogues on questions of the train split, up to `settings.train["full"]`, drawn by `settings.seed`.

    `condition` is its name in the config, `axes` its values. Raises ConfigError as `load_tasks` does.
    """
    if settings.source != "mathdial":
        raise ConfigError(f"tasks.source: {settings.source!r} has no dialogues to import, only 'mathdial' has.")
    dialogues, bad = mathdial.read_dialogues(settings, condition_name, condition, seed)
    train = [dialogue for dialogue in dialogues if dialogue.task.split == "train"]
    train.sort(key=lambda dialogue: digest(settings.seed, dialogue.task.id, [turn.text for turn in dialogue.turns]))
    return train[: settings.train.get("full", 0)], bad

"""Which tasks a condition plays, and which its exams are held on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from pipeline.core.schema import Specification, Task
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.loading import of_one_source


def tasks_of(experiment: Experiment, condition_name: str, tasks: Collection[Task]) -> Iterator[Task]:
    """Those of the train split's `tasks` that a condition plays, in their order."""
    stretches = experiment.stretches(condition_name)
    first, *others = (source.name for source in experiment.sources)
    seen: Counter[tuple[str, Specification]] = Counter()
    for task in tasks:
        cell = others[0] if others and task.source == others[0] else first, task.specification
        if seen[cell] in stretches.get(cell, ()):
            yield task
        seen[cell] += 1


def plays_all(experiment: Experiment, condition_name: str, tasks: Collection[Task]) -> bool:
    """Whether `tasks_of` are all of `tasks`: the source has what was asked for, and the condition plays it."""
    asked = {
        (source.name, specification): range(count)
        for source, settings in zip(experiment.sources, experiment.tasks.parts, strict=True)
        for specification, count in settings.train.items()
    }
    return experiment.stretches(condition_name) == asked and len(tasks) == sum(map(len, asked.values()))


def in_whole(experiment: Experiment, tasks: Collection[Task]) -> tuple[list[Task], list[Task]]:
    """Those of the exam split's `tasks` that are sat in whole, and those that only first turns are asked on."""
    most, seen = experiment.exams.whole, Counter[Specification]()
    whole, openings = list[Task](), list[Task]()
    for task in tasks:
        (whole if most is None or seen[task.specification] < most else openings).append(task)
        seen[task.specification] += 1
    return whole, openings


def exam_tasks(experiment: Experiment) -> tuple[list[Task], list[Task]]:
    """The exam split, and what only first turns are asked on: the tasks of a second source, and those that are unlike
    what is trained on, in a held-out wording or of a held-out kind."""
    settings, exams = experiment.tasks, experiment.exams
    tasks = list(of_one_source(settings, "exam")[0])
    first_turns = list(of_one_source(settings.second, "exam")[0]) if settings.second else []
    if unlike := experiment.source.unlike:
        first_turns += unlike(settings, exams.stress, exams.held_out)
    return tasks, first_turns

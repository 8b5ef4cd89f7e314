"""Which tasks a condition plays, and which its exams are held on."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator

from pipeline.core.schema import Specification, Task
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.embedded import embedded_tasks
from pipeline.tasks.loading import of_one_source
from pipeline.tasks.settings import Source


def tasks_of(experiment: Experiment, condition_name: str, tasks: Collection[Task]) -> Iterator[Task]:
    """Those of the train split's `tasks` that a condition plays, in their order."""
    stretches = experiment.stretches(condition_name)
    first, *others = (settings.source for settings in experiment.tasks.sources)
    seen: Counter[tuple[Source, Specification]] = Counter()
    for task in tasks:
        # A file of posed tasks may name any source.
        cell = others[0] if others and task.source == others[0] else first, task.specification
        if seen[cell] in stretches.get(cell, ()):
            yield task
        seen[cell] += 1


def exam_tasks(experiment: Experiment) -> tuple[list[Task], list[Task]]:
    """The exam split, and what only first turns are asked on: the held-out wording, the held-out kinds, and the tasks
    of a second source."""
    settings, exams = experiment.tasks, experiment.exams
    tasks = list(of_one_source(settings, "exam")[0])
    aside = list(of_one_source(settings.second, "exam")[0]) if settings.second else []
    if settings.source != "embedded":
        return tasks, aside
    for name in settings.exam:
        wordings = embedded_tasks("exam", name, settings.seed, wordings=(3,))
        aside += itertools.islice((task for task in wordings if task.kind not in settings.held_out), exams.stress)
        if name != "false_premise":  # of which there is one kind
            others = embedded_tasks("exam", name, settings.seed)
            aside += itertools.islice((task for task in others if task.kind in settings.held_out), exams.held_out)
    return tasks, aside

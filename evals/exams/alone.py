"""Partner gone: after the training the student solves whole problems by itself.

A post-test: what a partner did for the student while it was there may leave nothing behind, or less than nothing (help
can harm: who was helped does worse once the helper is gone). Problems are full, so nothing has to be asked for, and in
the partner's place stand content-free turns in exam wordings (`solo`: "Carry on.").

`alone_accuracy`: the answer at the end is right / episodes on full tasks, `exams.episodes` of each. They are new, and
a facts partner would have had nothing to tell. The last answer that the student committed to counts, none is wrong; a
talk with a turn in which it says nothing at all is left out, and counted (`unanswered`). It may end by saying that it
is done, else at the turn cap. First turns are those of the episodes with a partner (same streams), and
`first_accuracy` of the exam `asking` is the post-test without a second turn.

`alone_accuracy@helped`: the same on `exams.helped` problems with which help was to be had. They are training problems
that lacked something, posed whole: those that every condition with such problems played, so that all students are asked
the same. Who told what was missing, or nothing, is what their conditions differ in; who learned from whole problems
alone may have had the whole twin of one. A right answer may be a remembered one, and selection decides whose dialogues
are learned from: read the difference between conditions, and no accuracy.

The embedded base reads all of it: its corpus has episodes after which nobody says anything useful.
"""

from __future__ import annotations

from pydantic import Field

from evals.metrics.case import Case, tally
from evals.metrics.metric import Metric
from evals.metrics.reader import ANSWERS
from evals.sitting.exam import Exam, options
from evals.sitting.sitting import SOLO, Sitting
from pipeline.core.config_reading import Section
from pipeline.core.schema import Task
from pipeline.experiment.assignment import tasks_of
from pipeline.experiment.experiment import Experiment
from pipeline.reading.stored import is_right
from pipeline.tasks.loading import load_tasks

METRICS = (
    Metric(
        "alone_accuracy",
        "the answer at the end is right, without a partner / episodes on full tasks (@helped: of training, with what "
        "they lacked)",
        reader=ANSWERS,
    ),
)


class Options(Section):
    # Training problems that lacked something, which are posed whole with the partner gone (@helped).
    helped: int = Field(default=0, ge=0)


async def sit(sitting: Sitting) -> list[Case]:
    """A case for each full task and each helped one."""
    samples = range(sitting.experiment.exams.episodes)
    asked = {"": _whole(sitting.tasks), "@helped": helped(sitting.experiment)}
    hits = await sitting.all(
        [_right(sitting, task, sample, at) for at, tasks in asked.items() for task in tasks for sample in samples]
    )
    return tally("alone", hits)


def helped(experiment: Experiment) -> list[Task]:
    """Training problems that lacked something in every condition that had such problems, posed whole."""
    most = options(experiment, Options).helped
    if not most:
        return []
    tasks, _ = load_tasks(experiment.tasks, "train")
    lacking = [{t.id for t in tasks_of(experiment, name, tasks) if t.missing} for name in experiment.conditions]
    shared = set.intersection(*filter(None, lacking)) if any(lacking) else set()
    return [task.told_at_once(f"{task.id}-whole") for task in tasks if task.id in shared][:most]


async def _right(sitting: Sitting, task: Task, sample: int, at: str) -> tuple[str, str, float]:
    played = await sitting.play(task, SOLO, sitting.key(task.id, sample))
    turns = played.turns
    rights = [right for i in range(0, len(turns), 2) if (right := is_right(task, turns, i)) is not None]
    return task.id, f"alone_accuracy{at}", float(bool(rights) and rights[-1])


def _whole(tasks: tuple[Task, ...] | list[Task]) -> list[Task]:
    return [task for task in tasks if task.specification == "full"]


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    scopes = ("", "@helped") if options(experiment, Options).helped else ("",)
    return {f"alone_accuracy{scope}" for scope in scopes}


def _answers(experiment: Experiment, tasks: list[Task]) -> int:
    return (len(_whole(tasks)) + len(helped(experiment))) * experiment.exams.episodes * experiment.exam_turns


def _check(experiment: Experiment) -> None:
    if experiment.tasks.second and (most := options(experiment, Options).helped):
        raise ValueError(f"exams.helped: {most} problems would be of two sources. Leave out that, or tasks.second")


EXAM = Exam(
    name="alone",
    metrics=METRICS,
    sit=sit,
    answers=_answers,
    ratios=_ratios,
    options=Options,
    check=_check,
    of_tasks=True,
    programs=True,
)

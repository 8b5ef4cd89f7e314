"""What an exam is to the commands: its metrics, how it is sat, what it costs, and the keys of `exams` that it reads.

A module of evals/exams has one, called EXAM; one of your own is named in the config as `my.py:EXAM`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from typing import NamedTuple, TypeVar

from rich.table import Table

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric
from evals.sitting.examined_run import Run
from evals.sitting.sitting import Sitting, needs_real_model
from pipeline.core.config_reading import Section
from pipeline.core.schema import Task
from pipeline.experiment.experiment import Experiment

Options = TypeVar("Options", bound=Section)


class Reference(NamedTuple):
    """A figure that is known before any student sits: of people, of reference text, or of a script.

    `low` and `high` are its 95% interval, NaN where it is exact by construction; `n` its cases.
    """

    metric: str
    who: str
    value: float
    low: float
    high: float
    n: int


class Bar(NamedTuple):
    """What a student has to do before other figures of an exam say anything of its dispositions: the 95% interval of a
    metric, with its scope, lies above `above`.

    `of` is what hangs on it: metrics by name, or "@scope" for all of a scope, "@" for all without one. Empty: all.
    """

    metric: str
    above: float
    of: tuple[str, ...] = ()

    def holds(self, name: str) -> bool:
        """Whether a metric, with its scope, hangs on it."""
        metric, _, scope = name.partition("@")
        return not self.of or metric in self.of or f"@{scope}" in self.of


@dataclass(frozen=True, kw_only=True)
class Exam:
    """`sit` gives the cases of one student, `answers` how many answers it is asked for, at most.

    `ratios` are the metrics, with their scopes, that a config's exam can have cases of, by whether the student
    understands text beyond the embedded world; of a `real` exam see `asked`. None: every metric that is no composite.
    """

    name: str  # in exams.include, of its cases, and in the report
    metrics: tuple[Metric, ...]  # in the report's order
    sit: Callable[[Sitting], Awaitable[list[Case]]]
    answers: Callable[[Experiment, list[Task]], int]
    ratios: Callable[[Experiment, bool], set[str]] | None = None
    options: type[Section] | None = None  # its fields are keys of `exams` that this exam reads, see `options`
    check: Callable[[Experiment], None] | None = None  # raises ValueError where the config cannot be sat
    real: bool = False  # the embedded base cannot understand what is said in it
    of_tasks: bool = False  # what is said in it are the config's tasks: an embedded base reads the embedded ones alone
    programs: bool = False  # tasks whose answers are programs can be asked in it
    episodes: bool = False  # it reads the whole episodes with exam partners, which are made once for all such exams
    first_turn_answers: Callable[[Experiment], int] | None = None  # to each task that only first turns are asked on
    reference: Callable[[Experiment], Awaitable[list[Reference]]] | None = None
    tables: Callable[[Run], list[Table]] | None = None  # what a terminal shows of the students that have sat it
    competence: tuple[Bar, ...] = ()  # read first; none: there is no such figure


def options(experiment: Experiment, kind: type[Options]) -> Options:
    """An exam's own keys of `exams`, of a config that was checked (evals.examining.exam_checks)."""
    own = experiment.exams.own
    return kind.model_validate({key: own[key] for key in kind.model_fields if key in own})


def with_metrics(
    exam: Exam, metrics: tuple[Metric, ...], count: Callable[[Sitting], Awaitable[Hits]], ratios: Iterable[str]
) -> Exam:
    """The exam with metrics of one's own, in a file outside the repository (docs/exams.md).

    `count` gives their hits after the exam was sat; `ratios` are their names with the scopes that it has hits of.
    """

    @wraps(exam.sit)
    async def sit(sitting: Sitting) -> list[Case]:
        cases = await exam.sit(sitting)
        return cases + tally(exam.name, await count(sitting))

    def extended(experiment: Experiment, understands: bool) -> set[str]:
        return measured_by(exam, experiment, understands) | set(ratios)

    return replace(exam, metrics=(*exam.metrics, *metrics), sit=sit, ratios=extended)


def sits(exam: Exam, experiment: Experiment) -> bool:
    """Whether the config's student is asked anything in it."""
    beyond = exam.real or (exam.of_tasks and not experiment.source.closed)
    return not (beyond and needs_real_model(experiment))


def measured_by(exam: Exam, experiment: Experiment, understands: bool) -> set[str]:
    """The ratios that an exam can have cases of, of a student that does or does not understand free text."""
    if exam.ratios is None:
        return {metric.name for metric in exam.metrics if not metric.parts}
    return exam.ratios(experiment, understands)


def asked(exam: Exam, experiment: Experiment) -> set[str]:
    """The ratios that the config's student can have cases of."""
    if not sits(exam, experiment):
        return set()
    return measured_by(exam, experiment, not needs_real_model(experiment))


def not_asked(exam: Exam, experiment: Experiment) -> set[str]:
    """The ratios that need a real model, where the student is an embedded base: those of what it is not asked."""
    return measured_by(exam, experiment, True) - asked(exam, experiment)

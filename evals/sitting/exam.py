"""What an exam is to the commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from evals.sitting.sitting import Case, Sitting, as_understood, needs_real_model
from pipeline.core.schema import Task
from pipeline.experiment.experiment import Experiment


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


class Exam(NamedTuple):
    sit: Callable[[Sitting], Awaitable[list[Case]]]
    metrics: dict[str, str]  # name: what is counted / over what; the glossary's entries
    # The metrics, with their scopes, that a config's exam can have cases of; of a `real` one see `asked`.
    ratios: Callable[[Experiment], set[str]]
    answers: Callable[[Experiment, list[Task]], int]  # that one student is asked for, at most
    real: bool = False  # the embedded base cannot understand what is said in it
    of_tasks: bool = False  # what is said in it are the config's tasks: an embedded base reads the embedded ones alone
    reference: Callable[[Experiment], Awaitable[list[Reference]]] | None = None
    composites: dict[str, dict[str, float]] = {}  # metrics that are signed sums of others: name: {ratio: weight}


def sits(exam: Exam, experiment: Experiment) -> bool:
    """Whether the config's student is asked anything in it."""
    beyond = exam.real or (exam.of_tasks and not experiment.source.closed)
    return not (beyond and needs_real_model(experiment))


def asked(exam: Exam, experiment: Experiment) -> set[str]:
    """The ratios that the config's student can have cases of."""
    return exam.ratios(experiment) if sits(exam, experiment) else set()


def unread(exam: Exam, experiment: Experiment) -> set[str]:
    """The ratios that need a real model, where the student is an embedded base: those of what it is not asked."""
    return exam.ratios(as_understood(experiment)) - asked(exam, experiment)

"""A small config for an exam, and what tests ask of an exam's declarations."""

from __future__ import annotations

from evals.exams.registry import EXAMS, find_exam
from evals.metrics.metric import signed_sum
from evals.sitting.exam import Exam
from evals.stats.intervals import Rate, Tables, estimate
from pipeline.experiment.experiment import Experiment
from tests.builders import small_experiment


def exam_experiment(exam: str, /, **exams: object) -> Experiment:
    """A small experiment with one exam; `exams` are the settings of its section."""
    return small_experiment(exams={"include": [exam]} | exams)


def shipped_exams() -> dict[str, Exam]:
    return {name: find_exam(name) for name in EXAMS}


def weights(exam: Exam, name: str) -> dict[str, float]:
    """The ratios that a metric of an exam is the sum of."""
    return dict(signed_sum(exam.metrics, name).weights)


def sums(exam: Exam) -> dict[str, dict[str, float]]:
    """The exam's composites with their parts."""
    return {metric.name: dict(metric.parts) for metric in exam.metrics if metric.parts}


def rate(exam: Exam, tables: Tables, name: str) -> Rate:
    return estimate(tables, signed_sum(exam.metrics, name))


def ratios(exam: Exam, experiment: Experiment) -> set[str]:
    """What a student that understands everything can have cases of."""
    assert exam.ratios is not None
    return exam.ratios(experiment, True)


def is_declared(exam: Exam, name: str) -> bool:
    from evals.exams.registry import catalog

    return catalog([exam]).metric(name) is not None

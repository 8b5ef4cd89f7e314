"""Exams sat by scripted students, whose behaviour is known: figures before any model is asked."""

from __future__ import annotations

from collections.abc import Iterable

from evals.sitting.sitting import Sitting
from pipeline.core.schema import Task
from pipeline.engines.model import Model
from pipeline.experiment.experiment import Experiment


def seated(experiment: Experiment, student: Model, tasks: Iterable[Task] = ()) -> Sitting:
    """The script at the exam of the first seed; where there is a peer, it is the same script."""
    return Sitting(experiment, student, student, experiment.seeds[0], tuple(tasks))

"""References as figures: cases of people, of texts or of a script, with the interval that a student's would have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from evals.metrics.case import Case
from evals.metrics.metric import Metric, signed_sum
from evals.sitting.exam import Reference
from evals.sitting.sitting import Sitting
from evals.stats.intervals import Rate, estimate, tabulate
from pipeline.core.schema import Task
from pipeline.engines.model import Model
from pipeline.experiment.experiment import Experiment


def seated(experiment: Experiment, student: Model, tasks: Iterable[Task] = (), understands: bool = False) -> Sitting:
    """A scripted student at the exam of the first seed; where there is a peer, it is the same script.

    `understands`: it is asked all that a real model is, though the config's student be an embedded base.
    """
    scripts_read = {"prompts": "closed"}  # whatever models are told in this config
    return Sitting(
        experiment=experiment.model_copy(
            update={
                "student": experiment.student.model_copy(update=scripts_read),
                "partner": experiment.partner.model_copy(update=scripts_read),
            }
        ),
        student=student,
        peer=student,
        seed=experiment.seeds[0],
        tasks=tuple(tasks),
        scripted=understands,
    )


def references(
    cases: Sequence[Case],
    who: str,
    metrics: Sequence[Metric],
    names: Iterable[str] | None = None,
    exact: bool = False,
) -> list[Reference]:
    """A row for each metric of `names`, by default for each that has cases; NaN with n = 0 where there is no case.

    `metrics` are the exam's. Greedy cases are left out. What a script does by construction is `exact`: no interval.
    """
    tables = tabulate({0: cases})
    if names is None:
        names = sorted({metric for metric, greedy in tables if not greedy})
    rows: list[Reference] = []
    for name in names:
        total = signed_sum(metrics, name)
        there = all((part, False) in tables for part in total.weights)
        rate = estimate(tables, total) if there else Rate(math.nan, math.nan, math.nan, 0)
        low, high = (math.nan, math.nan) if exact else (rate.low, rate.high)
        rows.append(Reference(metric=name, who=who, value=rate.value, low=low, high=high, n=rate.n))
    return rows

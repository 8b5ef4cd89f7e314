"""How well what a metric counts is read, as one mark: good, rough or unmeasured. Its figures open on demand.

`good`: exact by construction, or F1 of at least .80 on every class that it counts and in every corpus. `unmeasured`:
some of its labels were never measured. A metric that no label makes has no mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from evals.metrics.metric import Metric
from evals.report.against_people import NOT_MEASURED, labelled_by
from evals.report.validity import figures_in_full, is_measured, planted, read_by
from pipeline.experiment.experiment import Experiment

GOOD = 0.80  # the least that a labeller of acts is to reach (evals/readers/labels/labels_table.py)


class Mark(NamedTuple):
    """Of one metric's labels. `lowest` is the lowest F1 of their classes; None where all is exact, or unmeasured."""

    standing: Literal["good", "rough", "unmeasured"]
    lowest: float | None
    figures: tuple[str, ...]  # a line each


def marks_of(metrics: Iterable[Metric], runs: Sequence[Experiment]) -> dict[str, Mark]:
    """By metric; those that no label makes are left out."""
    return {metric.name: mark for metric in metrics if (mark := mark_of(metric, runs)) is not None}


def mark_of(metric: Metric, runs: Sequence[Experiment]) -> Mark | None:
    figures = figures_in_full(metric, runs)
    if metric.reader is None:
        return None
    never = any(line.endswith(NOT_MEASURED) for line in figures)
    if never or metric.reader.unmeasured or not all(is_measured(metric, run) for run in runs):
        return Mark("unmeasured", None, figures)
    lowest = min(_scores(metric, runs), default=None)
    return Mark("good" if lowest is None or lowest >= GOOD else "rough", lowest, figures)


def _scores(metric: Metric, runs: Sequence[Experiment]) -> list[float]:
    """F1 of each class that is counted, by whoever reads it, in each run; what is exact has none."""
    read = [figure.f1 for run in runs if not planted(run) for figure in read_by(metric, run).values()]
    labelled = [figure.f1[0] for run in runs for figure in labelled_by(metric, run) if figure.f1]
    return [*(f1 for f1 in read if f1 is not None), *labelled]

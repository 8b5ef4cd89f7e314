"""Who labels the turns behind a metric, and how well: its figures in full, and whether it may be a headline.

Two readers make labels. The metrics' instrument (`reading.metrics` of a config) reads what turns ask for, commit to and
tell; its figures are of natural turns with labels (pipeline/reading/reader_figures.py). In the embedded world the
wordings are planted, and the closed reader fits them. The labeller of acts reads what no instrument does
(evals/report/against_people.py).

A rate whose reader was never measured, a judge or one's own without figures, is marked and is no headline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evals.metrics.metric import Metric
from evals.report.against_people import LEAKS, is_by_rule, labelled_by, people_in_full
from pipeline.experiment.experiment import Experiment
from pipeline.reading.reader_figures import ClassFigure, figures_of

REFUSED = "not measured: no headline"


def planted(experiment: Experiment) -> bool:
    """Whether what the metrics' reader reads are wordings that it was made for."""
    return experiment.is_closed and experiment.readers[1] == "closed"


def read_by(metric: Metric, experiment: Experiment) -> dict[str, ClassFigure]:
    """The figures, on natural turns, of the classes that the metrics' reader reads for a metric."""
    classes = () if metric.reader is None else metric.reader.classes
    known = figures_of(experiment.readers[1], experiment.reading.figures)
    return {name: known[name] for name in classes if name in known}


def is_measured(metric: Metric | None, experiment: Experiment) -> bool:
    """Whether whoever labels the turns behind a metric was ever measured on such text, or the wordings are planted.

    What an exam reads by rules of its own is no reader's, and is marked (evals/report/page/label_marks.py).
    """
    if metric is None or metric.reader is None:
        return True
    wanted, acts = metric.reader, experiment.acts
    read = planted(experiment) or read_by(metric, experiment).keys() == set(wanted.classes)
    by_labeller = [
        name for name in wanted.people if name not in LEAKS and not (planted(experiment) and is_by_rule(name, acts))
    ]
    labelled = {row.name for row in labelled_by(metric, experiment)}
    return read and labelled.issuperset(by_labeller)


def figures_in_full(metric: Metric, runs: Sequence[Experiment]) -> tuple[str, ...]:
    """A line for each class that a metric counts, with whoever reads it and how well; none where no label makes it."""
    if metric.reader is None:
        return ()
    unmeasured = [metric.reader.unmeasured] if metric.reader.unmeasured else []
    read = _each(line for run in runs for line in _reads(metric, run))
    return (*read, *people_in_full(metric, runs), *unmeasured)


def _each(lines: Iterable[str]) -> list[str]:
    """Once each, in their order, without empty ones."""
    return list(dict.fromkeys(line for line in lines if line))


def _reads(metric: Metric, run: Experiment) -> list[str]:
    """A line for each class, with its interval; on planted wordings one before them."""
    assert metric.reader is not None
    name, known, classes = run.readers[1], read_by(metric, run), metric.reader.classes
    exact = f"{name}: exact, the wordings are planted and its rules fit them; below, natural turns for comparison"
    lines = [exact] if planted(run) else []
    for wanted in classes:
        told = f", n {known[wanted].n}: {_figures(known[wanted])}" if wanted in known else f": {REFUSED}"
        lines.append(f"{wanted} by {name} on natural turns{told}")
    return lines if classes else []


def _figures(figure: ClassFigure) -> str:
    rates = {"precision": figure.precision, "recall": figure.recall, "F1": figure.f1}
    told = ", ".join(f"{name} {rate:.2f}" for name, rate in rates.items() if rate is not None)
    interval = "" if figure.low is None or figure.high is None else f" ({figure.low:.2f} to {figure.high:.2f})"
    return told + interval

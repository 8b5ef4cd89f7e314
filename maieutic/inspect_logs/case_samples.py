"""The cases of a student's exams as samples of inspect_ai: a sample is a task, its scores are shares by metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from inspect_ai.log import EvalMetric, EvalSample, EvalScore
from inspect_ai.scorer import Score

from evals.examining.examine import figures_of
from evals.exams.registry import catalog_of
from evals.metrics.case import Case
from evals.metrics.case_file import cases_of
from evals.metrics.catalog import Catalog
from maieutic.view.read_talks import ShownRun
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task
from pipeline.experiment.cell import Cell


def exams_in(run: ShownRun, cell: Cell, file: Path) -> Iterator[tuple[str, list[EvalSample], list[EvalScore]]]:
    """Each exam with its samples, and the figures that a report has of this student and seed alone."""
    cases, metrics = cases_of(file), catalog_of([run.experiment])
    values, present = figures_of(cell), {case.metric for case in cases}
    try:
        tasks = run.tasks
    except ConfigError:  # the files of tasks are elsewhere: ids have to do
        tasks = {}
    for exam in dict.fromkeys(case.exam for case in cases):
        own = [case for case in cases if case.exam == exam]
        by_task: dict[str, list[Case]] = {}
        for case in own:
            by_task.setdefault(case.task, []).append(case)
        samples = [_sample(name, tasks.get(name), of_task) for name, of_task in by_task.items()]
        sums = [name for name in values if name not in present and metrics.family(name) == exam]
        yield exam, samples, [*_ratios(own, metrics), *(_score(name, values[name], metrics) for name in sums)]


def _sample(name: str, task: Task | None, cases: Iterable[Case]) -> EvalSample:
    return EvalSample(
        id=name,
        epoch=1,
        input=task.question if task else name,
        target=task.answer if task else "",
        scores={
            _name(case): Score(value=case.hits / case.n, metadata={"hits": case.hits, "n": case.n}) for case in cases
        },
        metadata={"specification": task.specification} if task else {},
    )


def _name(case: Case) -> str:
    return f"{case.metric} (greedy)" if case.greedy else case.metric


def _ratios(cases: Iterable[Case], metrics: Catalog) -> list[EvalScore]:
    """Pooled over tasks, as in the report: sum of hits / sum of n, and not the mean of shares."""
    sums: dict[str, list[Case]] = {}
    for case in cases:
        sums.setdefault(_name(case), []).append(case)
    return [
        _score(name, sum(c.hits for c in own) / sum(c.n for c in own), metrics, len(own), sum(c.n for c in own))
        for name, own in sums.items()
    ]


def _score(name: str, value: float, metrics: Catalog, samples: int | None = None, n: int | None = None) -> EvalScore:
    declared = metrics.metric(name.removesuffix(" (greedy)"))
    counts = {} if n is None else {"n": EvalMetric(name="n", value=n)}
    return EvalScore(
        name=name,
        scorer=name,
        scored_samples=samples,
        metrics={"value": EvalMetric(name="value", value=value), **counts},
        metadata={"definition": declared.definition} if declared else None,
    )

"""Which contrasts a report holds: those that the runs' configs name, and between runs what their conditions share.

A config names its primary contrast, which is judged by its own p, families of contrasts, each corrected by Holm for
the number of its contrasts, and exploratory ones, which have no corrected p. Every contrast between runs is
exploratory, since no config names one: each condition of a later run against that of the same name in the first, or,
where they share none but the base, against every one of it. Its metric is the primary one; where none is named or
measured, those that decide (the table that a terminal shows), or else all that are shown whole.

    maieutic compare runs/quickstart runs/other
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from evals.metrics.catalog import Catalog
from evals.sitting.examined_run import Run
from evals.stats.contrasts import contrast, holm
from evals.stats.intervals import Tables
from pipeline.core.schema import Json
from pipeline.experiment.settings import Contrast


def named_contrasts(runs: list[Run], tables: Mapping[str, Tables], metrics: Catalog) -> list[Json]:
    """Differences with `primary`, `family` (None outside every family) and `p_holm` (NaN there); primary ones first."""
    rows = [row for run in runs for row in _of_config(run, tables, metrics, len(runs) > 1)]
    return sorted(rows, key=lambda row: not row["primary"])


def _of_config(run: Run, tables: Mapping[str, Tables], metrics: Catalog, several: bool) -> list[Json]:
    compare = run.experiment.compare
    if compare is None:
        return []

    def made(items: tuple[Contrast, ...], primary: bool = False, family: str | None = None) -> list[Json]:
        return [
            _row(
                tables, metrics, item.metric, *(run.names[name] for name in item.names), primary=primary, family=family
            )
            for item in items
            if {*item.names} <= run.names.keys()  # the base need not have been examined
        ]

    rows = made((compare.primary,), primary=True)
    for name, family in compare.families.items():
        there = made(family, family=f"{run.path.resolve().name}: {name}" if several else name)
        rows += _corrected(there, len(family))
    return rows + made(compare.exploratory)


def _row(
    tables: Mapping[str, Tables],
    metrics: Catalog,
    metric: str,
    a: str,
    b: str,
    *less: str,
    primary: bool,
    family: str | None,
) -> Json:
    found = contrast(tables, metrics.signed_sum(metric), a, b, (less[0], less[1]) if less else None)
    return {**found._asdict(), "primary": primary, "family": family, "p_holm": math.nan}


def _corrected(rows: list[Json], size: int) -> list[Json]:
    """The family is what the config names: a contrast that has no row counts as a test all the same."""
    corrected = holm([*(row["p"] for row in rows), *[math.nan] * (size - len(rows))])
    return [row | {"p_holm": p} for row, p in zip(rows, corrected, strict=False)]


def contrasts_between(runs: list[Run], tables: Mapping[str, Tables], metrics: Catalog) -> tuple[list[Json], list[str]]:
    """Those of each later run against the first, and in words what they are, or why there are none."""
    rows, said = list[Json](), list[str]()
    for run in runs[1:]:
        made = [
            _row(tables, metrics, metric, a, b, primary=False, family=None)
            for a, b in _pairs(run, runs[0])
            for metric in _shared_metrics(runs, tables[a], tables[b], metrics)
        ]
        on = ", ".join(dict.fromkeys(row["metric"] for row in made))
        against = f"{run.path} against {runs[0].path}"
        said.append(
            f"{against} on {on}: exploratory, without a corrected p, since no config named these contrasts before the "
            "runs. What is to decide has to be named in one config, as compare.primary."
            if made
            else f"{against}: nothing to compare, since no metric was measured in both. Sit the same exams in both "
            "(exams.include, `maieutic eval CONFIG`), then compare again."
        )
        rows += made
    return rows, said


def _pairs(run: Run, first: Run) -> list[tuple[str, str]]:
    """Which conditions of a later run stand against which of the first, by the names that are shown."""
    shared = [name for name in run.names if name in first.names]
    if set(shared) <= {"base"}:
        trained, of_first = ([shown for name, shown in one.names.items() if name != "base"] for one in (run, first))
        every = [(a, b) for a in trained for b in of_first]
    else:
        every = []
    return [(run.names[name], first.names[name]) for name in shared] + every


def _shared_metrics(runs: list[Run], a: Tables, b: Tables, metrics: Catalog) -> list[str]:
    offered = metrics.offered({metric for metric, _ in b})
    both = [name for name in metrics.offered({metric for metric, _ in a}) if name in offered]
    primary = [run.experiment.compare.primary.metric for run in runs if run.experiment.compare]
    if primary and primary[0] in both:
        return primary[:1]
    known = [(name, metric) for name in both if (metric := metrics.metric(name))]
    deciding = [name for name, metric in known if metric.shown.deciding and name == metric.name]
    return deciding or [name for name, metric in known if metric.shown.behaviour is None]

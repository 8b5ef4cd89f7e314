"""Asking against need, from the cases of the clarification exam: by level, AUC, slope, and its net value.

An item is a task, or a request of a file; its rate is the share of its draws that ask, of all seeds together.
- AUC: the chance that an item of which something is needed has a higher rate than one of which nothing is (half a
  chance where equal). 0.5: asks regardless of need. Rates are estimates, so it rises with draws of an item, of all
  seeds together: who asks in .6 and .4 of draws, by need, has .61 at one draw, .77 at 8 and .92 at 24. Compare students
  of as many draws alone.
- slope: rise of the rate with one step of need (least squares over items).
- net value at a price c: (sum of the rates of items with a need - c * sum of the others' rates) / items. One needed
  question brings 1, a needless one costs c (net benefit: Vickers and Elkin 2006, whose odds are c). Beside it who
  always asks, share needed - c * share needless; who never does is at 0. All depend on the exam's mix.
Intervals are percentiles of 2,000 resamples of items, of those with and without a need each on their own, since the mix
is the config's. They hold for these students, and do not cover how another seed's would differ. Where all draws are
equal (who always asks, who never does, an AUC of 0 or 1) they say nothing of how unsure the figure is, and the interval
is NaN. NaN too where the items of one kind are none.

    maieutic eval CONFIG      # with clarification in exams.include
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from pydantic import Field
from rich.table import Table

from evals.exams.registry import sat
from evals.metrics.metric import ratio
from evals.sitting.exam import options
from evals.sitting.examined_run import Run
from evals.stats.bootstrap import case_bootstrap, percentiles
from evals.stats.intervals import Rate, Tables, estimate
from evals.stats.parts import Figure, Part
from evals.stats.stored_cases import results
from pipeline.core.config_reading import Section
from pipeline.core.schema import Json

NAME = "clarification"  # of the exam
FILE = "@requests"
PRICES = (0.25, 0.5, 1.0, 2.0, 4.0)
EQUAL = 1e-9


class PriceFigure(Figure):
    """The net value of asking at a price, and that of who always asks."""

    price: float
    always: float


class NeedPart(Part):
    """Asking against need, of tasks or of a file's requests."""

    levels: dict[str, Figure]
    auc: Figure
    slope: Figure
    curve: tuple[PriceFigure, ...]


class Needs(Part):
    """The part `needs` of report.json: student, then part of the exam."""

    prices: tuple[float, ...]
    students: dict[str, dict[str, NeedPart]]


class Requests(Section):
    """Requests of which people said how much they need clarification."""

    path: str = Field(min_length=1)  # JSON Lines of request and need, a number
    needless: float  # up to this need nothing has to be asked: 1 on ClariQ's scale of 1 to 4


class Options(Section):
    clarification: Requests | None = None  # None: tasks by their missing facts alone


def level(need: float, scope: str = "") -> str:
    """The metric of asking at one need."""
    return f"asks@need{need:g}{scope.replace('@', '/')}"


class Items(NamedTuple):
    """need, rate: [items]; needed: whether something has to be asked."""

    need: np.ndarray
    rate: np.ndarray
    needed: np.ndarray

    def take(self, chosen: np.ndarray) -> Items:
        return Items(*(column[chosen] for column in self))


def asking_against_need(run: Run) -> Json | None:
    """Of each name's students, from the run's cases; None where the run has no such exam, or no case of it yet.

    `students`: name: {part: figures}, where part is tasks,
    or requests of a file.
    """
    if not sat(NAME, run.experiment):
        return None
    settings = options(run.experiment, Options).clarification
    parts = {"tasks": ("", 0.0)} | ({} if settings is None else {"requests": (FILE, settings.needless)})
    students: Json = {}
    for name, shown in run.names.items():
        tables = results(run.path, name)
        rows = {part: figures(tables, scope, needless) for part, (scope, needless) in parts.items()}
        if measured := {part: row for part, row in rows.items() if row is not None}:
            students[shown] = measured
    return {"prices": list(PRICES), "students": students} if students else None


def figures(tables: Tables, scope: str, needless: float) -> Json | None:
    """One student's figures on one part; None without cases."""
    start, end = level(0, scope).split("0", 1)
    levels = sorted(
        float(metric.removeprefix(start).removesuffix(end))
        for metric, greedy in tables
        if metric.startswith(start) and metric.endswith(end) and not greedy and ("/" in metric) == bool(end)
    )
    if not levels:
        return None
    items = _items(tables, levels, scope, needless)
    return {
        "levels": {f"{need:g}": estimate(tables, ratio(level(need, scope)))._asdict() for need in levels},
        "auc": _bootstrap(items, auc)._asdict(),
        "slope": _bootstrap(items, slope)._asdict(),
        "curve": [
            {
                "price": price,
                **_bootstrap(items, partial(net_value, price=price))._asdict(),
                "always": float(items.needed.mean() - price * (~items.needed).mean()),
            }
            for price in PRICES
        ],
    }


def _items(tables: Tables, levels: list[float], scope: str, needless: float) -> Items:
    rows = []
    for need in levels:
        sums: dict[str, tuple[float, int]] = {}
        for (_, task), (hits, n) in tables[level(need, scope), False].items():
            before = sums.get(task, (0.0, 0))
            sums[task] = before[0] + hits, before[1] + n
        rows += [(need, hits / n) for hits, n in sums.values()]
    need, rate = np.array(rows).T
    return Items(need, rate, need > needless)


def auc(items: Items) -> float:
    """The area under the curve of asking against whether something is needed, by ranks (Mann and Whitney)."""
    from scipy.stats import rankdata  # heavy: not for every command that knows the exams

    yes = int(items.needed.sum())
    no = len(items.needed) - yes
    if not yes or not no:
        return math.nan
    return float((rankdata(items.rate)[items.needed].sum() - yes * (yes + 1) / 2) / (yes * no))


def slope(items: Items) -> float:
    """Of the rate of asking on need, by least squares; NaN where all needs are the same."""
    centred = items.need - items.need.mean()
    spread = float((centred**2).sum())
    return float((centred * items.rate).sum()) / spread if spread else math.nan


def net_value(items: Items, price: float) -> float:
    """The mean over items: 1 for a question that was needed, -price for one that was not."""
    return float(np.where(items.needed, items.rate, -price * items.rate).mean())


def _bootstrap(items: Items, statistic: Callable[[Items], float]) -> Rate:
    n = len(items.need)
    draws = np.array([statistic(items.take(chosen)) for chosen in case_bootstrap(items.needed)])
    if np.isnan(draws).all() or np.nanmax(draws) - np.nanmin(draws) <= EQUAL:
        # An interval of no width would say that a few items are certain.
        return Rate(statistic(items), math.nan, math.nan, n)
    return Rate(statistic(items), *percentiles(draws), n)


def need_of_students(run: Run) -> list[Table]:
    """What a terminal shows of a run."""
    block = asking_against_need(run)
    return need_tables(block) if block else []


def need_tables(block: Json) -> list[Table]:
    """Asking by need, and its net value at each price."""
    asks = Table(
        title="Asking against need: share of first turns that ask, AUC and slope (95% intervals)",
        caption="AUC, slope and value: over items, all seeds together; another seed may differ by more. An AUC rises "
        "with draws of an item: compare it between equally many. Without an interval: every resample gave the same.",
    )
    for heading in ("student", "of", "items", "by need", "AUC", "slope"):
        asks.add_column(heading, overflow="fold")
    value = Table(
        title="Net value of asking, by the price of a needless question",
        caption="In parentheses who always asks; who never asks is at 0. It depends on the exam's mix of needs.",
    )
    for heading in ("student", "of", *(f"{price:g}" for price in block["prices"])):
        value.add_column(heading, overflow="fold")
    for name, parts in block["students"].items():
        for part, row in parts.items():
            by_need = "\n".join(f"{need}: {_shown(rate)}, n {rate['n']}" for need, rate in row["levels"].items())
            asks.add_row(name, part, str(row["auc"]["n"]), by_need, _shown(row["auc"]), _shown(row["slope"]))
            value.add_row(name, part, *(f"{_shown(cell)} ({cell['always']:.2f})" for cell in row["curve"]))
    return [asks, value]


def _shown(rate: Json) -> str:
    if math.isnan(rate["value"]):
        return "–"
    value, low, high = (f"{round(rate[key], 2) + 0.0:.2f}" for key in ("value", "low", "high"))
    return value if math.isnan(rate["low"]) else f"{value} ({low} to {high})"

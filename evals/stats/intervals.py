"""Ratios with intervals, over crossed tasks and seeds; differences between conditions are in contrasts.py.

A seed re-samples dialogues *and* trains, and every seed sits the same exam tasks, so cases form a
[seed, task] table of hits and n. The value is the pooled ratio sum(hits) / sum(n). Cases of one task
or of one seed are not independent, and both count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from evals.metrics.case import Case
from evals.metrics.metric import SignedSum, ratio
from pipeline.judging.wilson import wilson_interval

Array = np.ndarray
Z = 1.959964
SAME = 1e-9  # of the greatest value: what rounding leaves where nothing varies


Cells = dict[tuple[int, str], tuple[float, int]]  # (seed, task): (hits, n)
Tables = dict[tuple[str, bool], Cells]  # (ratio, greedy)


class Rate(NamedTuple):
    """A ratio over `n` cases with its 95% interval; NaN when n is 0. A composite's n is its smallest part's."""

    value: float
    low: float
    high: float
    n: int


def wilson(hits: float, n: int) -> Rate:
    """A share of independent cases with Wilson's interval; NaN where n is 0."""
    return Rate(hits / n if n else math.nan, *wilson_interval(hits, n), n)


def at_an_end(low: float, high: float, draws: int) -> tuple[float, float]:
    """A bootstrap's interval of a share; where all resamples give 0, or 1, Wilson's of as many independent draws."""
    return wilson_interval(low * draws, draws) if low == high and low in (0.0, 1.0) else (low, high)


def f1_at_an_end(low: float, high: float, draws: int) -> tuple[float, float]:
    """The same of an F1, which is 2 j / (1 + j) of the share j = tp / (tp + fp + fn): 0 and 1 where that is."""
    ends = at_an_end(low, high, draws)
    return (2 * ends[0] / (1 + ends[0]), 2 * ends[1] / (1 + ends[1])) if ends != (low, high) else (low, high)


def tabulate(cases: Mapping[int, Iterable[Case]]) -> Tables:
    """Sum each seed's cases by metric, decoding and task."""
    tables: Tables = {}
    for seed, rows in cases.items():
        keys: dict[str, tuple[int, str]] = {}  # a task has many metrics, and its key is held once
        for case in rows:
            table = tables.setdefault((case.metric, case.greedy), {})
            key = keys.setdefault(case.task, (seed, case.task))
            hits, n = table.get(key, (0.0, 0))
            table[key] = hits + case.hits, n + case.n
    return tables


class WeightedRatio(NamedTuple):
    """A weighted ratio on the common [seed, task] grid."""

    weight: float
    hits: Array
    n: Array

    @property
    def value(self) -> float:
        return float(self.hits.sum() / self.n.sum())


def seeds_and_tasks(tables: Tables, total: SignedSum, greedy: bool) -> list[tuple[int, str]]:
    """Of which there are cases of any part."""
    return [key for part in total.weights for key in tables.get((part, greedy), {})]


def measured_tasks(tables: Tables, total: SignedSum) -> set[str]:
    """Of which there are draws of any part; greedy ones aside."""
    return {task for part in total.weights for (_, task), (_, n) in tables.get((part, False), {}).items() if n}


def on_grid(
    tables: Tables, total: SignedSum, greedy: bool, seeds: Sequence[int], tasks: Sequence[str]
) -> list[WeightedRatio]:
    """The parts of a sum, each as hits and n of shape [seeds, tasks]."""
    row, column = {s: i for i, s in enumerate(seeds)}, {t: i for i, t in enumerate(tasks)}
    ratios = []
    for part, weight in total.weights.items():
        hits, n = np.zeros((len(seeds), len(tasks))), np.zeros((len(seeds), len(tasks)))
        for (seed, task), (h, count) in tables.get((part, greedy), {}).items():
            if seed in row:
                hits[row[seed], column[task]] = h
                n[row[seed], column[task]] = count
        ratios.append(WeightedRatio(weight, hits, n))
    draws = sum(ratio.n.sum() for ratio in ratios)
    if total.of_mix and draws:
        return [ratio._replace(weight=ratio.weight * float(ratio.n.sum() / draws)) for ratio in ratios]
    return ratios


class Squares(NamedTuple):
    """Mean squares of seeds, tasks and the rest in a table of `rows` seeds and `columns` tasks, and the least
    variance that its counts allow. `fewest` is how many tasks the part has that is measured on the fewest, and
    `fewest_seeds` how many seeds the one that is measured under the fewest."""

    seed: float
    task: float
    rest: float
    rows: int
    columns: int
    floor: float
    fewest: int
    fewest_seeds: int

    def spread(self) -> tuple[float, float]:
        """Standard error of the mean, and its degrees of freedom: those that were estimated, or what counts allow.

        The interval reaches at least as far as Wilson's does at 0 on as many draws as are independent
        (`effective_draws`): a rate of 0 is not certain. NaN where nothing could be estimated.
        """
        (se, df), least = self._estimated(), math.sqrt(self.floor)
        # What counts allow is no estimate of a spread, so few seeds do not widen it: a normal's reach, not a t's.
        return (se, df) if not se < least or se * stdtrit(df, 0.975) >= least * Z else (least, math.inf)

    def p(self, mean: float) -> float:
        """Two-sided, of a mean of 0: the larger one of the t test and of the normal one by what counts allow. So it is
        below .05 where the interval leaves out 0; and where counts widen that, few seeds make it no surer than they
        can be, however far out a correction for many looks."""
        return max(_two_sided(mean, *self._estimated()), _two_sided(mean, math.sqrt(self.floor), math.inf))

    def _estimated(self) -> tuple[float, float]:
        """The variance is (MS_seed + MS_task - MS_rest) / (seeds * tasks), no component below 0, on Satterthwaite's
        degrees of freedom (Searle, Casella and McCulloch 1992), of which there are no more than the tasks of its
        smallest part less one; seeds have those of the part that is measured under the fewest. NaN of one cell, and
        where a part has one of several tasks, or one of several seeds.
        """
        seed, task, rest, rows, columns, _, fewest, seeds = self
        if rows * columns == 1 or (fewest == 1 and columns > 1) or (seeds == 1 and rows > 1):
            return math.nan, math.nan
        total = max(seed + task - rest, seed, task)
        if total <= SAME * rest:  # neither seeds nor tasks differ, and what differs is all that there is
            total = rest
        wobble = (seed**2 / (seeds - 1) if rows > 1 else 0.0) + (task**2 / (columns - 1) if columns > 1 else 0.0)
        both = rows > 1 and columns > 1
        wobble += rest**2 / ((rows - 1) * (columns - 1)) if both and total == seed + task - rest else 0.0
        df = total**2 / wobble if wobble else float(max(rows - 1, columns - 1))
        df = min(df, fewest - 1) if fewest < columns else df
        return math.sqrt(total / (rows * columns)), df


def _two_sided(mean: float, se: float, df: float) -> float:
    return 2 * float(stdtr(df, -abs(mean) / se)) if se else float(mean == 0)


def effective_draws(hits: Array, n: Array) -> float:
    """How many independent draws those of [seeds, tasks] are worth: their number over the design effect.

    The design effect (Kish 1965) is the variance of a ratio over tasks by that of as many independent draws: 1 where
    draws of a task are independent, and the draws of a task where they agree, so that tasks are what counts. Near 0 and
    1 a few dissents cannot tell the two apart; so it is reckoned with one more task, as large as that of an average
    draw, that goes wholly against the others. Where hits are no counts of draws, such as distances, all draws count.
    """
    draws, hits_of_task, of_task = float(n.sum()), hits.sum(axis=0), n.sum(axis=0)
    if (hits < 0).any() or (hits > n).any() or (hits % 1).any():
        return draws
    size = float((of_task**2).sum()) / draws
    effects = [1.0]
    for hits_of_one_more in (0.0, size):
        share = (hits_of_task.sum() + hits_of_one_more) / (draws + size)
        between = ((hits_of_task - share * of_task) ** 2).sum() + (hits_of_one_more - share * size) ** 2
        if 0 < share < 1:
            effects.append(float(between / (share * (1 - share) * (draws + size))))
    return draws / min(max(effects), size)


def squares(ratios: Sequence[WeightedRatio], shares: bool = True) -> Squares:
    """The mean squares of a weighted sum of ratios, each linearised to a value per cell.

    A part that is measured on few of the tasks has no spread in the others' cells, so its own are made larger: variance
    over its own tasks less one; of seeds alike. A mean in a unit of its own (`shares` false) has no floor; where
    nothing in it varies it has that of a share, whatever its unit, since nothing says how far it could vary.
    """
    shape = np.broadcast_shapes(*(ratio.hits.shape for ratio in ratios))
    rows, columns = shape
    cells, of_seeds = np.zeros(shape), np.zeros((rows, 1))
    floor, fewest, fewest_seeds, greatest = 0.0, columns, rows, 0.0
    for weight, hits, n in ratios:
        tasks, seeds = (int((n.sum(axis=axis) > 0).sum()) for axis in (0, 1))
        fewest, fewest_seeds = min(fewest, tasks), min(fewest_seeds, seeds)
        floor += (weight * Z / (effective_draws(hits, n) + Z * Z)) ** 2
        # In place: a column is a task, of which a run may have a million.
        apart = hits.sum() / n.sum() * n
        np.subtract(hits, apart, out=apart)
        apart *= _larger(tasks, columns) * weight
        apart *= hits.size
        apart /= n.sum()
        cells += apart
        of_seeds += _larger(seeds, rows) * apart.mean(axis=1, keepdims=True)
        greatest = max(greatest, abs(weight) * float(np.abs(hits).max()))
    if not shares and np.abs(cells).max() > SAME * greatest:
        floor = 0.0
    by_seed, by_task = cells.mean(axis=1, keepdims=True), cells.mean(axis=0, keepdims=True)
    seed = columns * float((of_seeds**2).sum()) / (rows - 1) if rows > 1 else 0.0
    task = rows * float((by_task**2).sum()) / (columns - 1) if columns > 1 else 0.0
    both = rows > 1 and columns > 1
    rest = float(((cells - by_seed - by_task) ** 2).sum()) / ((rows - 1) * (columns - 1)) if both else 0.0
    return Squares(
        seed=seed,
        task=task,
        rest=rest,
        rows=rows,
        columns=columns,
        floor=float(floor),
        fewest=fewest,
        fewest_seeds=fewest_seeds,
    )


def _larger(measured: int, of: int) -> float:
    """By what a part's spread among `measured` tasks or seeds is made larger, where the table has more."""
    return math.sqrt(measured * (of - 1) / ((measured - 1) * of)) if 1 < measured < of else 1.0


def bounds(ratios: Sequence[WeightedRatio], shares: bool = True) -> tuple[float, float]:
    """The least and greatest value of a sum of shares; unbounded where they are none, and where hits are no counts."""
    if not shares or any((ratio.hits < 0).any() or (ratio.hits > ratio.n).any() for ratio in ratios):
        return -math.inf, math.inf
    return sum(min(r.weight, 0.0) for r in ratios), sum(max(r.weight, 0.0) for r in ratios)


def interval_around(
    value: float, ratios: Sequence[WeightedRatio], se: float, df: float, limits: tuple[float, float] | None = None
) -> tuple[float, float]:
    """The 95% interval by Student's t, inside what the ratios can be; the value lies in it."""
    least, most = limits or bounds(ratios)
    if math.isnan(se):
        return least, most  # one cell says nothing about its own spread
    reach = se * float(stdtrit(df, 0.975))
    return min(value, max(least, value - reach)), max(value, min(most, value + reach))


def estimate(tables: Tables, total: SignedSum, greedy: bool = False, limits: tuple[float, float] | None = None) -> Rate:
    """A metric's pooled value with a 95% interval over seeds and tasks (over tasks alone with one seed).

    The interval of a share ends at 0 and 1, or at the `limits` of a mean that could lie elsewhere.

    Measured coverage of the nominal 95% on 100 tasks x 8 draws (500 simulated experiments each, logistic
    effects of tasks sd 1 and seeds sd 0, 0.3, 1): this interval .95, .93, .92 at 3 seeds and .94, .94, .94
    at 5; the percentiles of a two-way bootstrap .96, .88, .77 and .95, .92, .88. A bootstrap cannot see
    how unsure three seeds leave the seeds' own variance, hence Student's t. With one seed no interval can
    know how seeds differ: .96, .58, .23, so one-seed intervals hold for that trained student only. Of two students'
    contrast that is truly 0 (1,000 experiments each, tasks sd 1 and .5 of a student's own, seeds sd .3, .5, 1) it
    leaves out 0 in .11, .11, .09 at 2 seeds, .09, .08, .06 at 3 and .07, .05, .05 at 5.

    Near its bounds, one seed of 8 draws a task (2,000 experiments each; tasks 20, 40, 100): a student that is the same
    in all draws of a task at .97 is covered .999, 1.000, .994 (mean width .19, .12, .07), one whose draws are
    independent 1.000, .999, .986 (.14, .08, .03). Over rates of 0, .01, .1, .5, .9, .97, .99, 1 and within-task
    correlations of 0, .1, .5, 1 the least is .927; over differences of two kinds of tasks, and of two students on the
    same tasks, .929. Where seeds differ by a logistic sd of 1 around .9 three seeds cover .84 to .99.
    """
    keys = seeds_and_tasks(tables, total, greedy)
    ratios = on_grid(tables, total, greedy, sorted({s for s, _ in keys}), sorted({t for _, t in keys}))
    return _estimate(ratios, limits or bounds(ratios, total.shares), total.shares)


def pooled_grid(hits: Array, n: Array) -> Rate:
    """The same of one ratio, as hits and n of shape [seeds, tasks]."""
    return _estimate([WeightedRatio(1.0, hits, n)])


def _estimate(ratios: Sequence[WeightedRatio], limits: tuple[float, float] | None = None, shares: bool = True) -> Rate:
    n = int(min(ratio.n.sum() for ratio in ratios))
    if n == 0:
        return Rate(math.nan, math.nan, math.nan, 0)
    value = sum(ratio.weight * ratio.value for ratio in ratios)
    return Rate(value, *interval_around(value, ratios, *squares(ratios, shares).spread(), limits), n)


def pooled(cells: Cells, limits: tuple[float, float] | None = None, shares: bool = True) -> Rate:
    """The same of one ratio's cells; `shares` is false of a mean in a unit of its own."""
    return estimate({("ratio", False): cells}, ratio("ratio", shares), limits=limits)

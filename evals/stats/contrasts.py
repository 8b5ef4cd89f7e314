"""Differences between conditions, paired by task and seed, with p; Holm's correction; what could have been found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy.special import stdtrit

from evals.metrics.metric import SignedSum
from evals.stats.intervals import (
    Tables,
    WeightedRatio,
    bounds,
    interval_around,
    measured_tasks,
    on_grid,
    seeds_and_tasks,
    squares,
)


class Difference(NamedTuple):
    """a - b with its 95% interval. `paired` says that both sat mostly the same tasks under the
    same seeds.

    `detectable` is (t.975 + t.80) standard errors on `df`, 2.8 of them where df is large: the smallest true difference
    that 80% of such experiments find at a two-sided 5% if their spread were known. It is guessed anew in each, so
    about three in four find it with three seeds (.75 to .77 by evals.report.planning.power; .71 with two), if the
    spread of this experiment is the true one. That is a guess, too: over guesses from three seeds .60 of experiments
    find what is printed, over those from eleven .74 (noncentral t on 2 and 10 degrees of freedom). `tasks` are
    those of the side that is measured on fewer, `seeds` those of either side.
    """

    metric: str
    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    se: float
    df: float
    detectable: float
    tasks: int
    seeds: int
    paired: bool


def _match(a: Sequence[int], b: Sequence[int]) -> tuple[Sequence[int], Sequence[int], bool]:
    """Seeds to use of each side, and whether they are the same ones."""
    shared, fewest = sorted(set(a) & set(b)), min(len(a), len(b))
    if shared and (len(shared) == fewest or len(shared) > 1):
        return shared, shared, True
    # Independent seeds may be matched in any order: it costs power, not validity.
    return a[:fewest], b[:fewest], False


def detectable(se: float, df: float) -> float:
    """The smallest true difference that 80% of runs find at a two-sided 5%, were the spread known (`Difference`)."""
    return se * float(stdtrit(df, 0.975) + stdtrit(df, 0.8))


def sides(
    tables: Mapping[str, Tables], total: SignedSum, a: str, b: str
) -> tuple[list[WeightedRatio], list[str], int, bool]:
    """The ratios of a - b on one grid, its tasks, how many seeds it has, and whether the seeds are the same ones."""
    keys = {name: seeds_and_tasks(tables[name], total, False) for name in (a, b)}
    tasks = sorted({task for side in keys.values() for _, task in side})
    seeds_a, seeds_b, paired = _match(*(sorted({s for s, _ in keys[name]}) for name in (a, b)))
    ratios = on_grid(tables[a], total, False, seeds_a, tasks)
    ratios += [r._replace(weight=-r.weight) for r in on_grid(tables[b], total, False, seeds_b, tasks)]
    return ratios, tasks, len(seeds_a), paired


def _four(
    tables: Mapping[str, Tables], total: SignedSum, *names: str
) -> tuple[list[WeightedRatio], list[str], int, bool]:
    """The same of (first - second) - (third - fourth)."""
    keys = [seeds_and_tasks(tables[name], total, False) for name in names]
    seeds = sorted(set.intersection(*({seed for seed, _ in side} for side in keys)))
    tasks = sorted({task for side in keys for _, task in side})
    signs = zip((1, -1, -1, 1), names, strict=True)
    return (
        [
            ratio._replace(weight=sign * ratio.weight)
            for sign, name in signs
            for ratio in on_grid(tables[name], total, False, seeds, tasks)
        ],
        tasks,
        len(seeds),
        True,
    )


def contrast(
    tables: Mapping[str, Tables], total: SignedSum, a: str, b: str, less: tuple[str, str] | None = None
) -> Difference:
    """The metric under `a` minus under `b`, paired by task and by seed wherever both have them.

    With `less` that difference minus the one of these two, over the seeds that all four have, all in one table: who
    sat the same tasks under the same seeds is paired here, too.

    Each side keeps its own denominator, so the difference equals that of the two values in the table
    (over the seeds used). Tasks that only one side has enter as unpaired. NaN where a side has no case.
    """
    ratios, _, used, same_seeds = sides(tables, total, a, b) if less is None else _four(tables, total, a, b, *less)
    sat = [measured_tasks(tables[name], total) for name in (a, b, *(less or ()))]
    value = low = high = p = se = df = least = math.nan
    paired = False
    if min(ratio.n.sum() for ratio in ratios) > 0:
        value = sum(ratio.weight * ratio.value for ratio in ratios)
        means = squares(ratios, total.shares)
        se, df = means.spread()
        low, high = interval_around(value, ratios, se, df, bounds(ratios, total.shares))
        p = means.p(value)  # NaN where se is
        least = detectable(se, df)
        paired = same_seeds and 2 * len(set.intersection(*sat)) > max(map(len, sat))
    return Difference(
        metric=total.name,
        a=a,
        b=b if less is None else f"{b} − ({less[0]} − {less[1]})",
        difference=value,
        low=low,
        high=high,
        p=p,
        se=se,
        df=df,
        detectable=least,
        tasks=min(map(len, sat)),
        seeds=used,
        paired=paired,
    )


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction (Holm 1979, Scandinavian Journal of Statistics 6). NaN stays NaN and counts as a test all the
    same: what was named and not measured makes no other contrast surer.

    Written out: statsmodels, which has it, takes 100 MiB in every comparison.
    """
    corrected, least = [math.nan] * len(p), 0.0
    real = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    for rank, (value, i) in enumerate(real):
        least = max(least, min(1.0, value * (len(p) - rank)))
        corrected[i] = least
    return corrected

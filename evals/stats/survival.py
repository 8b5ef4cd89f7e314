"""Kaplan and Meier's survival curve with intervals over clusters, such as the questions that several talks are about.

The variance is the infinitesimal jackknife's of the product limit, summed over clusters (Williams 1995, Product-limit
survival functions with correlated survival times, Lifetime Data Analysis 1); of clusters of one it is Greenwood's.

    kaplan_meier(times, happened, clusters)     # [SurvivalTime(time=1, rate=Rate(.8, .62, .98, n=20)), ...]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from evals.stats.intervals import SAME, Rate, wilson

Array = np.ndarray


class SurvivalTime(NamedTuple):
    """The share that is left after `time`; n of `rate` counts those at risk at it."""

    time: int
    rate: Rate


def kaplan_meier(times: Array, happened: Array, clusters: Array) -> list[SurvivalTime]:
    """One for each time at which it happened to any. All are [cases]: positive whole times, whether it happened then or
    was censored, and what of them belongs together. Intervals are NaN of one cluster. Where all
    clusters are alike, as at a share of 0, they are Wilson's of as many draws as clusters are at risk."""
    names, cluster = np.unique(clusters, return_inverse=True)
    count, share, influence, curve = len(names), 1.0, np.zeros(len(names)), list[SurvivalTime]()
    for time in np.unique(times[happened]):
        at_risk, now = times >= time, happened & (times == time)
        n = int(at_risk.sum())
        hazard, before = float(now.sum()) / n, share
        share *= 1 - hazard
        if share > 0:
            apart = np.bincount(cluster[now], minlength=count) - hazard * np.bincount(cluster[at_risk], minlength=count)
            influence += apart / (n * (1 - hazard))
        se = share * math.sqrt(count / (count - 1) * float((influence**2).sum())) if count > 1 else math.nan
        reach = se * float(stdtrit(count - 1, 0.975)) if count > 1 else math.nan
        low, high = (max(0.0, share - reach), min(1.0, share + reach)) if count > 1 else (math.nan, math.nan)
        if se < SAME:
            n_at_risk = len(np.unique(cluster[at_risk]))
            if share:
                low, high = wilson(share * n_at_risk, n_at_risk)[1:3]
            else:  # of those that were left
                low, high = 0.0, before * wilson(0, n_at_risk).high
        curve.append(SurvivalTime(int(time), Rate(share, low, high, n)))
    return curve

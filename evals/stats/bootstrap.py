"""The cluster bootstrap: resamples of whole clusters (tasks, dialogues, conversations, questions), never of cases.

Cases of one cluster are not independent, so a resample draws clusters with replacement, as many as there are, and takes
each with all its cases. A figure of a resample is then one of weighted sums:

    weights = cluster_bootstrap(len(sums))        # sums: [clusters, ...]
    low, high = percentiles(figure(weights @ sums))
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray
RESAMPLES = 2000


def cluster_bootstrap(*clusters: int, resamples: int = RESAMPLES, seed: int = 0) -> Array:
    """How often each cluster is drawn in each resample: [resamples, clusters]; [0, clusters] where there is no cluster,
    or one alone, of which nothing says how others differ.

    Of crossed clusters, such as seeds and tasks, each kind is drawn on its own, and a cell counts as often as the
    product says: [resamples, seeds, tasks].
    """
    if math.prod(clusters) < 2:
        return np.zeros((0, *clusters))
    rng, weights = np.random.default_rng(seed), np.ones((resamples, 1))
    for n in clusters:
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
        weights = (weights[:, :, None] * drawn[:, None, :]).reshape(resamples, -1)
    return weights.reshape(resamples, *clusters)


def resampled_sums(sums: Array, resamples: int = RESAMPLES) -> Array:
    """`cluster_bootstrap(len(sums), ...) @ sums` of sums [clusters, ...], of which one resample is held at a time."""
    rng, n = np.random.default_rng(0), len(sums)
    drawn = (rng.multinomial(n, np.full(n, 1 / n)).astype(float) @ sums for _ in range(resamples if n > 1 else 0))
    return np.array([*drawn]).reshape(-1, *sums.shape[1:])


def case_bootstrap(kinds: Array, resamples: int = RESAMPLES) -> Array:
    """Which cases, each a cluster of its own, stand in each resample: [resamples, cases], for figures that are no
    function of sums, such as those of ranks.

    `kinds` [cases] says of which kind each is; how many there are of a kind is fixed, so each kind is drawn on its own.
    """
    rng, drawn = np.random.default_rng(0), np.zeros((resamples, len(kinds)), dtype=int)
    for kind in np.unique(kinds):
        places = np.flatnonzero(kinds == kind)
        drawn[:, places] = places[rng.integers(len(places), size=(resamples, len(places)))]
    return drawn


def percentiles(figures: Array) -> tuple[float, float]:
    """The 2.5 and 97.5 percentiles of a figure's resamples, without those where it is NaN; NaN where it always is."""
    known = figures[~np.isnan(figures)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)

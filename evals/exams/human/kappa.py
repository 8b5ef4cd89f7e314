"""Two people's, or a person's and a student's, turns at the same places: rates of each act, and how far they agree.

At every place the person said one turn and the student drew K. Over all (place, draw) pairs, with h pairs in which the
person does the act, m in which the student does, b in which both do, of n:

    kappa      = 2 (n b - h m) / (n (h + m) - 2 h m)     Cohen's; NaN where either never does the act, or both always
    difference = m / n - h / n                           paired by conversation
    gap        = 1 - m / h                               by how much less often than people; NaN where h is 0

Rates and differences have the intervals of `evals.stats.intervals`; kappa and gap the percentiles of RESAMPLES
bootstrap samples of conversations and of seeds, without those in which they are NaN. Where people do the act in fewer
than FEWEST conversations such an interval says little, and neither figure is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evals.exams.human.people import LABELS, POSITIONS, Acts, HumanTurn
from evals.metrics.metric import ratio
from evals.stats.bootstrap import Array, cluster_bootstrap, percentiles
from evals.stats.contrasts import contrast
from evals.stats.intervals import Rate, Tables, estimate
from pipeline.core.schema import Json

Draws = Mapping[str, Sequence[Acts]]  # of each human turn's id
ALL = "all"
FEWEST = 10
SHUFFLES = 8  # turns of other people that stand in for one, as many as a student's usual draws


def shuffled(turns: Mapping[str, HumanTurn]) -> dict[str, list[Acts]]:
    """For each turn the acts of SHUFFLES others at its position. Every turn stands in equally often."""
    rng, draws = np.random.default_rng(0), dict[str, list[Acts]]()
    for position in POSITIONS:
        keys = sorted(key for key, turn in turns.items() if turn.position == position)
        order = [keys[i] for i in rng.permutation(len(keys))]
        for i, key in enumerate(order if len(order) > 1 else []):
            others = range(1, 1 + min(SHUFFLES, len(order) - 1))
            draws[key] = [turns[order[(i + k) % len(order)]].acts for k in others]
    return draws


def compare(turns: Mapping[str, HumanTurn], truth: Mapping[str, Acts], seeds: Sequence[Draws]) -> Json:
    """{act: {position: {n, people, student, difference, kappa, gap}}} over the turns that have draws.

    `n` counts pairs of a place and a draw. Acts that neither side ever does have rows too: their rates are 0.
    """
    asked = sorted(set().union(*seeds))
    talks = sorted({turns[key].conversation for key in asked})
    row = {talk: i for i, talk in enumerate(talks)}
    places = [(row[turns[key].conversation], POSITIONS.index(turns[key].position)) for key in asked]
    counts = np.zeros((len(seeds), len(talks), len(POSITIONS) + 1, len(LABELS), 4))  # n, h, m, b
    own = np.zeros((1, *counts.shape[1:4], 2))  # people's turns, counted once: n, h
    for key, (talk, at) in zip(asked, places, strict=True):
        person = np.array([name in truth[key] for name in LABELS], dtype=float)
        for where in (at, -1):
            own[0, talk, where] += np.stack([np.ones(len(LABELS)), person], axis=-1)
        for seed, draws in enumerate(seeds):
            for seen in draws.get(key, ()):
                student = np.array([name in seen for name in LABELS], dtype=float)
                pair = np.stack([np.ones(len(LABELS)), person, student, person * student], axis=-1)
                counts[seed, talk, at] += pair
                counts[seed, talk, -1] += pair
    samples = _resampled(counts)
    totals = counts.sum(axis=(0, 1))
    cells: Json = {}
    for j, name in enumerate(LABELS):
        cells[name] = {}
        for i, position in enumerate((*POSITIONS, ALL)):
            tables = {
                "people": _table(own[:, :, i, j, 0], own[:, :, i, j, 1]),
                "student": _table(counts[:, :, i, j, 0], counts[:, :, i, j, 2]),
            }
            n = int(totals[i, j, 0])
            enough = int((own[0, :, i, j, 1] > 0).sum()) >= FEWEST
            # The person of a place stands beside every draw of every seed there.
            beside = tables | {"people": _table(counts[:, :, i, j, 0], counts[:, :, i, j, 1])}
            difference = contrast(beside, ratio("act"), "student", "people")
            cells[name][position] = {
                "n": n,
                **{side: estimate(table, ratio("act"))._asdict() for side, table in tables.items()},
                "difference": Rate(difference.difference, difference.low, difference.high, n)._asdict(),
                **{
                    key: _figure(measure, totals[i, j], samples[:, i, j], enough)._asdict()
                    for key, measure in (("kappa", kappas), ("gap", gaps))
                },
            }
    return cells


def _table(n: Array, hits: Array) -> Tables:
    cells = {
        (seed, str(talk)): (float(hits[seed, talk]), int(n[seed, talk])) for seed, talk in np.argwhere(n > 0).tolist()
    }
    return {("act", False): cells} if cells else {}


def _resampled(counts: Array) -> Array:
    """Totals under resampled seeds and conversations: [resamples, positions, acts, 4]."""
    seeds, talks = counts.shape[:2]
    drawn = cluster_bootstrap(seeds, talks)
    weights = drawn.reshape(len(drawn), seeds * talks)
    flat: Array = weights @ counts.reshape(seeds * talks, math.prod(counts.shape[2:]))
    return flat.reshape(len(drawn), *counts.shape[2:])


def kappas(totals: Array) -> Array:
    """Of [..., (n, h, m, b)]; NaN where either side has no case of the act, or does nothing else."""
    n, h, m, b = np.moveaxis(totals, -1, 0)
    sound = (h > 0) & (m > 0) & ((h < n) | (m < n))
    bottom = n * (h + m) - 2 * h * m
    return np.divide(2 * (n * b - h * m), bottom, out=np.full(n.shape, np.nan), where=sound & (bottom > 0))


def gaps(totals: Array) -> Array:
    """Of [..., (n, h, m, b)]; NaN where people have no case of the act."""
    _, h, m, _ = np.moveaxis(totals, -1, 0)
    return 1 - np.divide(m, h, out=np.full(h.shape, np.nan), where=h > 0)


def _figure(measure: Callable[[Array], Array], totals: Array, samples: Array, enough: bool) -> Rate:
    value, (low, high) = float(measure(totals)), percentiles(measure(samples))
    if math.isnan(value) or not enough or math.isnan(low):
        return Rate(math.nan, math.nan, math.nan, int(totals[0]))
    return Rate(value, low, high, int(totals[0]))

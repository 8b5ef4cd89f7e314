"""Precision, recall, F1 and kappa of who says whether a text is of a class, against people, with 95% intervals.

Precision = tp / (tp + fp), recall = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn), kappa = Cohen's, for this class
against all else. Intervals are the percentiles of RESAMPLES bootstrap samples of conversations, so turns of one
conversation stay together. Where all of these give 0, or 1, it is Wilson's of as many draws as conversations count: for
F1 that of tp / (tp + fp + fn), for a kappa of 1 that of both classes' recalls, at their lower ends. The kappa of who
always says the same is 0 and has no width. What one conversation alone decides is not measured, nor is a class with
fewer than FEWEST cases; with fewer than FEWEST other turns only its recall is, since there was hardly a way to be
wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evals.stats.bootstrap import Array, cluster_bootstrap, percentiles
from evals.stats.intervals import Rate, at_an_end, f1_at_an_end, wilson

FEWEST = 50
RESAMPLES = 1000


class Score(NamedTuple):
    """How a labeller does on one class of one corpus: `n` turns of the class, `others` that are not."""

    n: int
    others: int
    confusion: tuple[int, int, int, int]  # tp, fp, fn, tn
    precision: Rate
    recall: Rate
    f1: Rate
    kappa: Rate

    @property
    def measured(self) -> bool:
        return self.n >= FEWEST


def score(truth: Sequence[bool], labels: Sequence[bool], conversations: Sequence[str], seed: int = 0) -> Score:
    """The figures of one class. The three sequences run over the same turns."""
    place = {name: i for i, name in enumerate(dict.fromkeys(conversations))}
    counts = np.zeros((len(place), 4))  # tp, fp, fn, tn of each conversation
    for yes, labelled, conversation in zip(truth, labels, conversations, strict=True):
        counts[place[conversation], (0 if labelled else 2) if yes else (1 if labelled else 3)] += 1
    weights = cluster_bootstrap(len(place), resamples=RESAMPLES, seed=seed)
    values, samples = _figures(counts.sum(axis=0, keepdims=True)), _figures(weights @ counts)
    tp, fp, fn, tn = (int(total) for total in counts.sum(axis=0))
    n, others = tp + fn, fp + tn
    rates, carriers = [], int(counts[:, (0, 2)].any(axis=1).sum())  # conversations that hold the class
    bounds = _bounds(samples, counts)
    for i, size in enumerate((tp + fp, n, n, n)):
        low, high = bounds[i]
        blank = n < FEWEST or (others < FEWEST and i != 1) or math.isnan(low) or carriers < 2
        rates.append(Rate(*((math.nan,) * 3 if blank else (float(values[i][0]), low, high)), n=size))
    precision, recall, f1, kappa = rates
    return Score(n=n, others=others, confusion=(tp, fp, fn, tn), precision=precision, recall=recall, f1=f1, kappa=kappa)


def _bounds(samples: list[Array], counts: Array) -> list[tuple[float, float]]:
    """The interval of each figure from its resamples; `counts` [conversations, 4] says how many conversations count."""
    precision, recall, f1, kappa = map(percentiles, samples)

    def talks(*cells: int) -> int:
        return int(counts[:, cells].any(axis=1).sum())

    if kappa == (1.0, 1.0):
        n, _, _, others = counts.sum(axis=0)
        found, passed = n * wilson(talks(0), talks(0)).low, others * wilson(talks(3), talks(3)).low
        least = _figures(np.array([[found, others - passed, n - found, passed]]))[3]
        kappa = float(least[0]), 1.0
    of = ((at_an_end, precision, (0, 1)), (at_an_end, recall, (0, 2)), (f1_at_an_end, f1, (0, 1, 2)))
    ends = [bound(*ends, talks(*cells)) if talks(*cells) > 1 else (math.nan, math.nan) for bound, ends, cells in of]
    return [*ends, kappa]


def _figures(counts: Array) -> list[Array]:
    """Precision, recall, F1 and kappa of each row of [tp, fp, fn, tn]; NaN where a denominator is 0."""
    tp, fp, fn, tn = counts.T
    expected = 2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return [*precision_recall_f1(tp, fp, fn), _shares(*expected)]


def precision_recall_f1(tp: Array, fp: Array, fn: Array) -> tuple[Array, Array, Array]:
    """Each of counts in rows, such as resamples; NaN where a denominator is 0."""
    return _shares(tp, tp + fp), _shares(tp, tp + fn), _shares(2 * tp, 2 * tp + fp + fn)


def _shares(top: Array, bottom: Array) -> Array:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)

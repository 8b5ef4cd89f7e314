"""Precision, recall, F1 and kappa of a labeller against people's labels, with 95% intervals.

A class is measured on the turns whose labels say something about it. Precision = tp / (tp + fp), recall =
tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn), kappa = Cohen's, for this class against all else. Intervals are the
percentiles of RESAMPLES bootstrap samples of conversations, so turns of one conversation stay together; where nothing
was found wrong an interval has no width, which says little. A class with fewer than FEWEST cases is not measured; with
fewer than FEWEST other turns only its recall is, since there was hardly a way to be wrong.

Turns on which people's labels are silent are counted beside every figure, and precision and F1 are given a second time
with all of these as turns that are not of the class: no reading of them makes the precision lower.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from evals.readers.labels.labelled_turns import Said
from evals.readers.labels.meaning import MEANINGS
from evals.stats.bootstrap import cluster_bootstrap, percentiles
from evals.stats.intervals import Rate

FEWEST = 50
RESAMPLES = 1000


class Class(NamedTuple):
    """A turn is of the class if its labels mean one of `acts`; only turns that do `among` are looked at."""

    acts: frozenset[str]
    among: str = ""


CLASSES = {
    "question": Class(frozenset({"question"})),
    "request": Class(frozenset({"clarify", "repair"}), among="question"),  # clarification or repair
    "acknowledge": Class(frozenset({"acknowledge"})),
    "take_up": Class(frozenset({"acknowledge", "agree"})),  # "yeah" alone is either
    "agree": Class(frozenset({"agree"})),
    "disagree": Class(frozenset({"disagree"})),
    "repair": Class(frozenset({"repair"})),
    "restate": Class(frozenset({"restate"})),
    "hedge": Class(frozenset({"hedge"})),
    "attempt": Class(frozenset({"attempt"})),
}


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


def left_out(said: Said) -> bool:
    return any(label not in MEANINGS[said.corpus] for label in said.labels)


def cases(lines: Iterable[Said], name: str) -> list[tuple[Said, bool]]:
    """The turns on which people's labels decide a class, each with what they say."""
    return [(said, yes) for said, yes in readings(lines, name) if yes is not None]


def readings(lines: Iterable[Said], name: str) -> list[tuple[Said, bool | None]]:
    """The turns that a class is about, each with what people's labels say; None where these are silent on it."""
    wanted = CLASSES[name]
    found: list[tuple[Said, bool | None]] = []
    for said in lines:
        meanings = [MEANINGS[said.corpus][label] for label in said.labels if label in MEANINGS[said.corpus]]
        acts = frozenset[str]().union(*(meaning.acts for meaning in meanings))
        unclear = frozenset[str]().union(*(meaning.unclear for meaning in meanings))
        if wanted.among and wanted.among not in acts:
            continue
        yes = bool(acts & wanted.acts)
        silent = left_out(said) or (not yes and unclear & wanted.acts)
        found.append((said, None if silent else yes))
    return found


def covers(corpus: str, name: str) -> bool:
    """Whether a corpus has a label for the class at all."""
    return any(meaning.acts & CLASSES[name].acts for meaning in MEANINGS[corpus].values())


def score(truth: Sequence[bool], said: Sequence[bool], conversations: Sequence[str], seed: int = 0) -> Score:
    """The figures of one class. The three sequences run over the same turns."""
    place = {name: i for i, name in enumerate(dict.fromkeys(conversations))}
    counts = np.zeros((len(place), 4))  # tp, fp, fn, tn of each conversation
    for yes, found, conversation in zip(truth, said, conversations, strict=True):
        counts[place[conversation], (0 if found else 2) if yes else (1 if found else 3)] += 1
    weights = cluster_bootstrap(len(place), resamples=RESAMPLES, seed=seed)
    values, samples = _figures(counts.sum(axis=0, keepdims=True)), _figures(weights @ counts)
    tp, fp, fn, tn = (int(total) for total in counts.sum(axis=0))
    n, others = tp + fn, fp + tn
    rates = []
    for i, size in enumerate((tp + fp, n, n, n)):
        low, high = percentiles(samples[i])
        blank = n < FEWEST or (others < FEWEST and i != 1) or math.isnan(low)
        rates.append(Rate(*((math.nan,) * 3 if blank else (float(values[i][0]), low, high)), n=size))
    return Score(n, others, (tp, fp, fn, tn), *rates)


def _figures(counts: np.ndarray) -> list[np.ndarray]:
    """Precision, recall, F1 and kappa of each row of [tp, fp, fn, tn]; NaN where a denominator is 0."""
    tp, fp, fn, tn = counts.T
    expected = 2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    pairs = (tp, tp + fp), (tp, tp + fn), (2 * tp, 2 * tp + fp + fn), expected
    return [np.divide(top, bottom, out=np.full(len(counts), np.nan), where=bottom > 0) for top, bottom in pairs]

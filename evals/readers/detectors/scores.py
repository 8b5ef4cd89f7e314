"""Precision, recall, F1 and average precision of detectors, and paired differences, over dialogues.

Average precision is as in scikit-learn (the step-wise area under the precision-recall curve). Of a detector that only
says yes or no it is that of one point and the base rate. Intervals are the 2.5 and 97.5 percentiles of RESAMPLES
bootstrap samples of dialogues, the same samples for every detector, so that differences are paired. Where all samples
give 0, or 1, it is Wilson's of as many draws as dialogues count. An empty denominator is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from sklearn.metrics import precision_recall_curve

from evals.stats.bootstrap import Array, cluster_bootstrap, percentiles
from evals.stats.classification import precision_recall_f1
from evals.stats.intervals import at_an_end, f1_at_an_end
from pipeline.core.schema import Json

Ends = Callable[[float, float, int], tuple[float, float]]
ENDS: dict[str, Ends] = {"f1": f1_at_an_end}


def rate(hits: Sequence[float], groups: Sequence[str], seed: int) -> Json:
    """The mean of cases, a share where they are yes or no, without those that are NaN; value, low, high, n."""
    kept = [i for i, hit in enumerate(hits) if not math.isnan(hit)]
    yes, weights = np.array([hits[i] for i in kept], dtype=float), _weights([groups[i] for i in kept], seed)
    counts = weights.sum(axis=1)
    draws = np.divide(weights @ yes, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return _figure(float(yes.mean()) if len(yes) else math.nan, draws, len(yes), len({groups[i] for i in kept}))


def compare(
    truth: Sequence[bool], scores: Mapping[str, tuple[Array, float]], groups: Sequence[str], baseline: str, seed: int
) -> Json:
    """Figures of each detector (its scores, and the least score that says yes), and each minus the baseline."""
    yes, weights = np.array(truth, dtype=bool), _weights(groups, seed)
    values = {name: _figures(yes, *rule, np.ones((1, len(yes)))) for name, rule in scores.items()}
    draws = {name: _figures(yes, *rule, weights) for name, rule in scores.items()}
    figures: Json = {}
    for name, (score, least) in scores.items():
        called = score >= least
        sizes = {"precision": int(called.sum()), "recall": int(yes.sum()), "f1": int(yes.sum()), "ap": int(yes.sum())}
        counts = {"precision": called, "recall": yes, "f1": called | yes, "ap": yes}
        talks = {key: len({groups[i] for i in np.flatnonzero(cases)}) for key, cases in counts.items()}
        tp, fp = int((called & yes).sum()), int((called & ~yes).sum())
        figures[name] = {
            "confusion": {"tp": tp, "fp": fp, "fn": int(yes.sum()) - tp, "tn": int((~yes).sum()) - fp},
            **{
                key: _figure(float(values[name][key][0]), draws[name][key], n, talks[key], ENDS.get(key, at_an_end))
                for key, n in sizes.items()
            },
        }
        if name != baseline:
            for key in ("f1", "ap"):
                difference = float(values[name][key][0] - values[baseline][key][0])
                paired = _figure(difference, draws[name][key] - draws[baseline][key], len(yes))
                figures[name][f"{key}_gain"] = paired | {"beats": bool(paired["low"] is not None and paired["low"] > 0)}
    return {
        "replies": len(yes),
        "positives": int(yes.sum()),
        "dialogues": len(set(groups)),
        "baseline": baseline,
        "detectors": figures,
    }


def curve(truth: Sequence[bool], score: Array) -> Json:
    """Points of the precision-recall curve; empty without a positive."""
    if not any(truth):
        return {"precision": [], "recall": []}
    precision, recall, _ = precision_recall_curve(np.array(truth), score)
    return {"precision": precision.round(4).tolist(), "recall": recall.round(4).tolist()}


def _weights(groups: Sequence[str], seed: int) -> Array:
    """How often each case is drawn in each sample of dialogues: [RESAMPLES, cases]."""
    place = {name: i for i, name in enumerate(dict.fromkeys(groups))}
    return cluster_bootstrap(len(place), seed=seed)[:, [place[name] for name in groups]]


def _figures(yes: Array, score: Array, least: float, weights: Array) -> dict[str, Array]:
    called = score >= least
    precision, recall, f1 = precision_recall_f1(
        *(weights @ cell for cell in (called & yes, called & ~yes, ~called & yes))
    )
    return {"precision": precision, "recall": recall, "f1": f1, "ap": average_precision(yes, score, weights)}


def average_precision(yes: Array, score: Array, weights: Array) -> Array:
    """scikit-learn's average_precision_score under each row of weights; NaN without a positive."""
    if not len(yes):
        return np.full(len(weights), np.nan)
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)  # the last of each group of equal scores
    hits = (weights * yes)[:, order].cumsum(axis=1)[:, ends]
    called = weights[:, order].cumsum(axis=1)[:, ends]
    precision = np.divide(hits, called, out=np.zeros_like(hits), where=called > 0)
    gained = np.diff(hits, axis=1, prepend=0.0)
    total = hits[:, -1]
    return np.divide((gained * precision).sum(axis=1), total, out=np.full(len(weights), np.nan), where=total > 0)


def _figure(value: float, draws: Array, n: int, talks: int = 0, ends: Ends = at_an_end) -> Json:
    """`talks`: dialogues that count for a share, whose `ends` are an interval's at 0 and 1; 0 of a difference."""
    low, high = percentiles(draws)
    if talks:
        low, high = ends(low, high, talks)
    if math.isnan(value) or math.isnan(low):
        return {"value": None, "low": None, "high": None, "n": n}
    return {"value": round(value, 4), "low": round(low, 4), "high": round(high, 4), "n": n}

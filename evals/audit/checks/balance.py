"""Do the conditions train on as much, and on the same mix? Otherwise a difference between them may be one of budgets.

The matched regime promises equal totals of student tokens and the same mix. The natural one promises nothing: there
the differences are shown and not judged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from evals.audit.audited_talks import Material, group
from evals.audit.finding import Check, Finding, Verdict, untested
from evals.stats.bootstrap import cluster_bootstrap, percentiles
from evals.stats.intervals import Rate
from pipeline.core.schema import Party
from pipeline.tasks.talks import Talk

MOST = 0.10
RESAMPLES = 500
Talks = Mapping[str, Sequence[Talk]]


def check(material: Material) -> Check:
    parts: dict[object, dict[str, list[Talk]]] = defaultdict(dict)
    experiment = material.experiment
    for name, talks in _by_condition(material.used()).items():
        restricted_to = experiment.conditions[name].specifications if experiment else None
        parts[restricted_to][name] = talks
    findings: list[Finding] = []
    for compared in parts.values():
        if len(compared) > 1:
            findings += _compare(compared, experiment is None or experiment.training.regime == "matched")
    return Check(
        "balance",
        "Does what is trained on differ between conditions in student tokens, partner tokens, turns, distinct tasks or "
        "the mix of specifications? The figure is (most - least) / least; of the mix the largest gap between shares.",
        f"At most {MOST:.0%} where the regime is matched, and in other people's data; student tokens and mix are what "
        "matching promises, so the others are shown only. Conditions restricted to other tasks stand apart.",
        tuple(findings or [untested("budgets", "one condition: nothing to compare")]),
    )


def _by_condition(talks: list[Talk]) -> dict[str, list[Talk]]:
    groups: dict[str, list[Talk]] = {}
    for talk in talks:
        groups.setdefault(talk.condition_name, []).append(talk)
    return groups


def size(talk: Talk, party: Party) -> int:
    """Tokens as they were counted when they were generated; words where nobody counted."""
    turns = [turn for turn in talk.turns if turn.party == party]
    return sum(turn.tokens for turn in turns) or sum(len(turn.text.split()) for turn in turns)


def _compare(talks: Talks, judged: bool) -> list[Finding]:
    return [
        _spread("student tokens", talks, lambda t: size(t, "student"), judged),
        _spread("partner tokens", talks, lambda t: size(t, "partner"), False),
        _spread("turns", talks, lambda t: len(t.turns), False),
        _distinct(talks),
        _mix(talks, judged),
    ]


def _verdict(value: float, judged: bool) -> Verdict:
    return "not testable" if not judged else "fail" if value > MOST else "pass"


def _spread(what: str, talks: Talks, measure: Callable[[Talk], int], judged: bool) -> Finding:
    """Of the totals, with percentiles of a bootstrap over questions that all conditions share."""
    groups = sorted({group(talk) for own in talks.values() for talk in own})
    row = {name: i for i, name in enumerate(groups)}
    totals = np.zeros((len(groups), len(talks)))
    sizes: list[np.ndarray] = []
    for column, own in enumerate(talks.values()):
        sizes.append(np.array([measure(talk) for talk in own], dtype=float))
        np.add.at(totals[:, column], [row[group(talk)] for talk in own], sizes[-1])
    each = ", ".join(f"{name} {total:,.0f}" for name, total in zip(talks, totals.sum(axis=0), strict=True))
    if not totals.sum(axis=0).all():
        return Finding(what=what, verdict="fail" if judged else "not testable", bar=MOST if judged else None, note=each)
    resampled = cluster_bootstrap(len(groups), resamples=RESAMPLES) @ totals
    value, (low, high) = _relative(totals.sum(axis=0)), percentiles(np.array(list(map(_relative, resampled))))
    names = list(talks)
    apart = {(a, b): _standardised(sizes[a], sizes[b]) for a, b in combinations(range(len(names)), 2)}
    (a, b), d = max(apart.items(), key=lambda item: abs(item[1]))
    note = f"{each}; per dialogue the largest standardised difference is {d:+.2f} ({names[a]} - {names[b]})"
    rate = Rate(value, min(low, value), max(high, value), sum(map(len, talks.values())))
    return Finding(what=what, verdict=_verdict(value, judged), rate=rate, bar=MOST if judged else None, note=note)


def _relative(totals: np.ndarray) -> float:
    """(most - least) / least; infinite where a resample has nothing of one condition."""
    least, most = float(totals.min()), float(totals.max())
    return most / least - 1 if least else float("inf")


def _standardised(a: np.ndarray, b: np.ndarray) -> float:
    """Difference of means in pooled standard deviations; 0 where nothing varies."""
    pooled = float(np.sqrt((a.var() + b.var()) / 2))
    return float(a.mean() - b.mean()) / pooled if pooled else 0.0


def _distinct(talks: Talks) -> Finding:
    counts = {name: len({group(talk) for talk in own}) for name, own in talks.items()}
    value = max(counts.values()) / min(counts.values()) - 1
    note = "a count, without an interval: " + ", ".join(f"{name} {n}" for name, n in counts.items())
    return Finding(
        what="distinct questions",
        verdict="not testable",
        rate=Rate(value, value, value, sum(counts.values())),
        note=note,
    )


def _mix(talks: Talks, judged: bool) -> Finding:
    """The largest difference between two conditions in the share of one specification, with Wald bounds."""
    mixes = {name: Counter(talk.specification or "unknown" for talk in own) for name, own in talks.items()}
    kinds = sorted({kind for mix in mixes.values() for kind in mix})
    best: tuple[float, float, str] = (-1.0, 0.0, "")
    for kind in kinds:
        for a, b in combinations(mixes, 2):
            p, q = mixes[a][kind] / mixes[a].total(), mixes[b][kind] / mixes[b].total()
            reach = 1.96 * (p * (1 - p) / mixes[a].total() + q * (1 - q) / mixes[b].total()) ** 0.5
            best = max(best, (abs(p - q), reach, f"{kind} of {a} {p:.2f}, of {b} {q:.2f}"))
    value, reach, note = best
    rate = Rate(value, max(0.0, value - reach), min(1.0, value + reach), sum(mix.total() for mix in mixes.values()))
    return Finding(
        what="mix of specifications",
        verdict=_verdict(value, judged),
        rate=rate,
        bar=MOST if judged else None,
        note=note,
    )

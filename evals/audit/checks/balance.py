"""Do the conditions train on as much, and on the same mix? Otherwise a difference between them may be one of budgets.

The matched regime promises equal totals of student tokens and the same mix. The natural one promises nothing: there
the differences are shown and not judged.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from evals.audit.audited_talks import Material, by_condition, group, trained
from evals.audit.finding import Check, Finding, Verdict, untested
from evals.audit.run_talks import RunTalks, talk_of
from evals.stats.bootstrap import percentiles, resampled_sums
from evals.stats.intervals import Rate
from pipeline.core.schema import Party
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.experiment.experiment import Experiment
from pipeline.runs.dialogue_pool import branches_of
from pipeline.tasks.talks import Talk

MOST = 0.10
RESAMPLES = 500


class Budget(NamedTuple):
    """What is trained on of one condition: of each talk its group and its sizes, and the mix of all."""

    groups: np.ndarray
    student: np.ndarray
    partner: np.ndarray
    turns: np.ndarray
    mix: Counter[str]


Budgets = Mapping[str, Budget]


def check(material: Material) -> Check:
    findings: list[Finding] = []
    for judged, compared in _comparable(material):
        budgets = {name: _budget(talks) for name, talks in compared.items()}
        if len(some := {name: own for name, own in budgets.items() if len(own.groups)}) > 1:
            findings += _compare(some, judged)
    return Check(
        "balance",
        "Does what is trained on differ between conditions in student tokens, partner tokens, turns, distinct tasks or "
        "the mix of specifications? The figure is (most - least) / least; of the mix the largest gap between shares.",
        f"At most {MOST:.0%} where the regime is matched, and in other people's data; student tokens and mix are what "
        "matching promises, so the others are shown only. Conditions restricted to other tasks stand apart.",
        tuple(findings or [untested("budgets", "one condition: nothing to compare")]),
    )


def _comparable(material: Material) -> list[tuple[bool, Mapping[str, Iterable[Talk]]]]:
    """What conditions train on that could have the same tasks, and whether their regime promises equal budgets."""
    experiment = material.experiment
    if experiment is None:
        return [(True, by_condition(material.used()))]
    parts: dict[tuple[object, ...], dict[str, Iterable[Talk]]] = defaultdict(dict)
    for name, condition in experiment.conditions.items():
        key = (experiment.regime_of(name) == "matched", condition.specifications, condition.sources)
        parts[key][name] = _learned(material, experiment, name)
    return [(bool(matched), compared) for (matched, *_), compared in parts.items()]


def _learned(material: Material, experiment: Experiment, condition_name: str) -> Iterable[Talk]:
    """The dialogues whose rows a condition's student learns, branches played on among them; where no condition has rows
    yet, its own."""
    condition = experiment.conditions[condition_name]
    if LEARNING_RULES[condition.method].format == "preference":  # pairs of turns: no dialogue's whole is learned
        return ()
    source = condition.learns_from or condition_name
    ids, of_source = trained(experiment, condition_name), material.conditions().get(source, ())
    if ids is None or not isinstance(of_source, RunTalks):
        return () if condition.learns_from else by_condition(material.used()).get(condition_name, ())
    branches = branches_of(experiment, source)
    played_on = (d for branch in branches for i in range(len(branch.siblings)) for d in branch.dialogues(i))
    return chain(of_source.among({source: ids}), (talk_of(d, condition) for d in played_on if d.id in ids))


def _budget(talks: Iterable[Talk]) -> Budget:
    mix = Counter[str]()

    def rows() -> Iterator[tuple[int, int, int, int]]:
        for talk in talks:
            mix[talk.specification or "unknown"] += 1
            yield int(group(talk), 16), size(talk, "student"), size(talk, "partner"), len(talk.turns)

    sizes = ("student", "partner", "turns")
    table = np.fromiter(rows(), np.dtype([("group", np.uint64), *((name, np.float64) for name in sizes)]))
    return Budget(groups=table["group"].copy(), **{name: table[name].copy() for name in sizes}, mix=mix)


def size(talk: Talk, party: Party) -> int:
    """Tokens as they were counted when they were generated; words where nobody counted."""
    turns = [turn for turn in talk.turns if turn.party == party]
    return sum(turn.tokens for turn in turns) or sum(len(turn.text.split()) for turn in turns)


def _compare(budgets: Budgets, judged: bool) -> list[Finding]:
    return [
        _spread("student tokens", budgets, [own.student for own in budgets.values()], judged),
        _spread("partner tokens", budgets, [own.partner for own in budgets.values()], False),
        _spread("turns", budgets, [own.turns for own in budgets.values()], False),
        _distinct(budgets),
        _mix(budgets, judged),
    ]


def _verdict(value: float, judged: bool) -> Verdict:
    return "not testable" if not judged else "fail" if value > MOST else "pass"


def _spread(what: str, budgets: Budgets, sizes: Sequence[np.ndarray], judged: bool) -> Finding:
    """Of the totals, with percentiles of a bootstrap over questions that all conditions share."""
    groups, row = np.unique(np.concatenate([own.groups for own in budgets.values()]), return_inverse=True)
    totals, ends = np.zeros((len(groups), len(budgets))), np.cumsum([len(own) for own in sizes])
    for column, (end, own) in enumerate(zip(ends, sizes, strict=True)):
        np.add.at(totals[:, column], row[end - len(own) : end], own)
    each = ", ".join(f"{name} {total:,.0f}" for name, total in zip(budgets, totals.sum(axis=0), strict=True))
    if not totals.sum(axis=0).all():
        return Finding(what=what, verdict="fail" if judged else "not testable", bar=MOST if judged else None, note=each)
    resampled = resampled_sums(totals, RESAMPLES)
    value = _relative(totals.sum(axis=0))
    # Of least / most, which is 0 where a resample has nothing of one condition: the excess would be infinite.
    some = resampled[resampled.max(axis=1) > 0]
    least, greatest = percentiles(some.min(axis=1) / some.max(axis=1))
    low, high = 1 / greatest - 1 if greatest else np.inf, 1 / least - 1 if least else np.inf
    names = list(budgets)
    apart = {(a, b): _standardised(sizes[a], sizes[b]) for a, b in combinations(range(len(names)), 2)}
    (a, b), d = max(apart.items(), key=lambda item: abs(item[1]))
    note = f"{each}; per dialogue the largest standardised difference is {d:+.2f} ({names[a]} - {names[b]})"
    rate = Rate(value, min(low, value), max(high, value), sum(map(len, sizes)))
    return Finding(what=what, verdict=_verdict(value, judged), rate=rate, bar=MOST if judged else None, note=note)


def _relative(totals: np.ndarray) -> float:
    """(most - least) / least; there are some of each."""
    return float(totals.max() / totals.min()) - 1


def _standardised(a: np.ndarray, b: np.ndarray) -> float:
    """Difference of means in pooled standard deviations; 0 where nothing varies."""
    pooled = float(np.sqrt((a.var() + b.var()) / 2))
    return float(a.mean() - b.mean()) / pooled if pooled else 0.0


def _distinct(budgets: Budgets) -> Finding:
    counts = {name: len(np.unique(own.groups)) for name, own in budgets.items()}
    value = max(counts.values()) / min(counts.values()) - 1
    note = "all of them, so without an interval: " + ", ".join(f"{name} {n}" for name, n in counts.items())
    return Finding(
        what="distinct questions",
        verdict="not testable",
        rate=Rate(value, math.nan, math.nan, sum(counts.values())),
        note=note,
    )


def _mix(budgets: Budgets, judged: bool) -> Finding:
    """The largest difference between two conditions in the share of one specification, of all that they train on."""
    mixes = {name: own.mix for name, own in budgets.items()}
    kinds = sorted({kind for mix in mixes.values() for kind in mix})
    best: tuple[float, str] = (-1.0, "")
    for kind in kinds:
        for a, b in combinations(mixes, 2):
            p, q = mixes[a][kind] / mixes[a].total(), mixes[b][kind] / mixes[b].total()
            best = max(
                best, (abs(p - q), f"all of them, so without an interval: {kind} of {a} {p:.2f}, of {b} {q:.2f}")
            )
    value, note = best
    rate = Rate(value, math.nan, math.nan, sum(mix.total() for mix in mixes.values()))
    return Finding(
        what="mix of specifications",
        verdict=_verdict(value, judged),
        rate=rate,
        bar=MOST if judged else None,
        note=note,
    )

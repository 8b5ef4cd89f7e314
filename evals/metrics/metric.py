"""One metric: declared once, beside its exam; whatever names, computes or shows it reads this record.

A metric's value is sum(hits) / sum(n) over its cases. A composite is a signed sum of such ratios, each over its own
denominator. An empty denominator is NaN, never 0. What follows an @ is a scope (an exam partner, a stratum), what
follows a / a position; a composite exists in each scope in which all its parts do: ask_skill@facts is
ask_needed@facts - ask_needless@facts. A ratio whose name ends in _null, or whose scope is @null, is a null: the same
after a turn without content, or where there is nothing to find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

from evals.metrics.reader import Reader


class Shown(NamedTuple):
    """Where a report has a metric. Scopes are what follows the @, "" for none.

    `behaviour`: the scopes in its first table of behaviour, None for all; the others are behind "all metrics".
    `deciding`: a column of the table that a terminal shows. `methods`: scopes in the table of learning methods.
    """

    behaviour: tuple[str, ...] | None = None
    deciding: bool = False
    methods: tuple[str, ...] = ()


EVERYWHERE, HIDDEN = Shown(), Shown(behaviour=())


@dataclass(frozen=True)
class Metric:
    """`definition` says what is counted / over what, `unit` what a value is (a share of 1 where nothing is said).

    `parts` are the ratios that a composite is the signed sum of, with their weights. `of_mix` weighs each by its share
    of all their draws, too, as where each is of another kind of task: how many there are of a kind is the config's
    choice and no chance, so intervals are over tasks within their kind. `reader` is None where no label makes the
    metric. `scopes`: where another exam has a metric of this name, the scopes in which it is this exam's.
    """

    name: str
    definition: str
    _: KW_ONLY
    unit: str = "share"
    reader: Reader | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    of_mix: bool = False
    shown: Shown = EVERYWHERE
    scopes: tuple[str, ...] = ()


def alike(definitions: Mapping[str, str], **common: Any) -> tuple[Metric, ...]:
    """Metrics by name and definition that have all else in common."""
    return tuple(Metric(name, definition, **common) for name, definition in definitions.items())


def difference(name: str, more: str, less: str, definition: str = "", **common: Any) -> Metric:
    """The ratio `more` minus the ratio `less`, which is its definition where no other words are given."""
    return Metric(name, definition or f"{more} - {less}", parts={more: 1, less: -1}, **common)


class SignedSum(NamedTuple):
    """A metric in one scope as statistics see it: ratios by name, with their weights. A ratio is its own sum.

    `of_mix`: a weight is multiplied by the ratio's share of all draws. `shares`: each ratio is one, and lies in 0 to 1.
    """

    name: str
    weights: Mapping[str, float]
    of_mix: bool = False
    shares: bool = True


def ratio(name: str, shares: bool = True) -> SignedSum:
    """A metric that is no composite, as the sum of itself."""
    return SignedSum(name, {name: 1.0}, shares=shares)


def signed_sum(metrics: Iterable[Metric], name: str) -> SignedSum:
    """What a metric, with its scope, is the sum of. One over fixed scopes or positions has no scopes of its own."""
    own, at, scope = name.partition("@")
    declared = list(metrics)
    sum_of = next((metric for metric in declared if metric.name == own and metric.parts), None)
    if sum_of is None or (at and any("@" in part or "/" in part for part in sum_of.parts)):
        return ratio(name, _is_share(declared, metric_name(name)))
    weights = {part + at + scope: float(w) for part, w in sum_of.parts.items()}
    return SignedSum(name, weights, sum_of.of_mix, all(_is_share(declared, metric_name(part)) for part in weights))


def _is_share(metrics: Iterable[Metric], own: str) -> bool:
    """Of a name without its scope; True where nobody declared it."""
    return all(metric.unit == "share" for metric in metrics if metric.name == own)


def is_null(name: str) -> bool:
    """Whether a ratio is what would have been without what it is taken off."""
    return metric_name(name).endswith("_null") or name.endswith("@null")


def metric_name(name: str) -> str:
    """Without the scope, position, stratum or turn number behind it."""
    return re.sub(r"(_turn\d+|_easy|_hard)$", "", re.split(r"[@/]", name)[0])

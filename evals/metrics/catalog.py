"""The metrics of some exams together: what each means, whose it is, and which can be computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evals.metrics.metric import Metric, SignedSum, metric_name, ratio, signed_sum


@dataclass(frozen=True)
class Catalog:
    """`families` are metrics by exam, in the order in which reports have them. Names may have a scope behind them."""

    families: Mapping[str, tuple[Metric, ...]]

    @property
    def metrics(self) -> list[Metric]:
        return [metric for family in self.families.values() for metric in family]

    def metric(self, name: str) -> Metric | None:
        """The declaration; None where no exam has it."""
        return self._declared(name)[1]

    def family(self, name: str) -> str:
        """The exam that a metric is of; '' where it is of none."""
        return self._declared(name)[0]

    def signed_sum(self, name: str) -> SignedSum:
        return signed_sum(self.metrics, name)

    def offered(self, present: Iterable[str]) -> list[str]:
        """All metrics that can be computed where cases of `present` exist, in the order of their declarations."""
        have = set(present)
        scopes = {"", *("@" + name.partition("@")[2] for name in have if "@" in name)}
        named = [metric.name + scope for metric in self.metrics if metric.parts for scope in scopes]
        totals = {name: self.signed_sum(name) for name in named}
        sums = {name for name, total in totals.items() if total != ratio(name) and total.weights.keys() <= have}
        order: dict[str, int] = {}
        for metric in self.metrics:
            order.setdefault(metric.name, len(order))
        return sorted(have | sums, key=lambda name: (order.get(metric_name(name), len(order)), name))

    def _declared(self, name: str) -> tuple[str, Metric | None]:
        own, scope = metric_name(name), name.partition("@")[2]
        named = [(family, m) for family, metrics in self.families.items() for m in metrics if m.name == own]
        here = [(family, m) for family, m in named if scope in m.scopes]
        return next(iter(here + [(family, m) for family, m in named if not m.scopes]), ("", None))

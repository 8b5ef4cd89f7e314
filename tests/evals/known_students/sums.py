"""Expected hits and cases of metrics: a ratio's true value is the one over the other."""

from __future__ import annotations

from collections import defaultdict


class Sums:
    """Expected hits and cases by metric."""

    def __init__(self) -> None:
        self.hits: dict[str, float] = defaultdict(float)
        self.cases: dict[str, float] = defaultdict(float)

    def note(self, metric: str, weight: float, hit: float) -> None:
        self.hits[metric] += weight * hit
        self.cases[metric] += weight

    def values(self) -> dict[str, float]:
        return {metric: self.hits[metric] / n for metric, n in self.cases.items() if n > 0}

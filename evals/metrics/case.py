"""Cases: what an exam leaves of one student, a line each in results/<condition>/seed-N.jsonl."""

from __future__ import annotations

from typing import NamedTuple

Hits = list[tuple[str, str, float]]  # (task, metric, hit)


class Case(NamedTuple):
    """One task's share of a metric: value = sum(hits) / sum(n) over tasks; never written with n = 0."""

    exam: str
    task: str
    metric: str
    hits: float
    n: int
    greedy: bool = False


def tally(exam: str, hits: Hits, greedy: bool = False) -> list[Case]:
    """Sum (task, metric, hit) triples into cases."""
    sums: dict[tuple[str, str], tuple[float, int]] = {}
    for task, metric, hit in hits:
        total, n = sums.get((task, metric), (0.0, 0))
        sums[task, metric] = total + hit, n + 1
    return [
        Case(exam=exam, task=task, metric=metric, hits=total, n=n, greedy=greedy)
        for (task, metric), (total, n) in sums.items()
    ]

"""References as figures: cases of people, of texts or of a script, with the interval that a student's would have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from evals.sitting.exam import Reference
from evals.sitting.sitting import Case


def references(
    cases: Sequence[Case], who: str, names: Iterable[str] | None = None, exact: bool = False
) -> list[Reference]:
    """A row for each metric of `names`, by default for each that has cases; NaN with n = 0 where there is no case.

    Greedy cases are left out. What a script does by construction is `exact`: no interval.
    """
    from evals.metrics.catalog import parts
    from evals.stats.intervals import estimate, tabulate

    tables, found = tabulate({0: cases}), []
    for name in sorted({metric for metric, greedy in tables if not greedy}) if names is None else names:
        if any((part, False) not in tables for part in parts(name)):
            found.append(Reference(name, who, math.nan, math.nan, math.nan, 0))
            continue
        rate = estimate(tables, name)
        low, high = (math.nan, math.nan) if exact else (rate.low, rate.high)
        found.append(Reference(name, who, rate.value, low, high, rate.n))
    return found

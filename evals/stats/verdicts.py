"""What a difference says of a claim: supported, contradicted, undecided, not tested.

A claim names a direction. What could not have come out otherwise is not evidence: where nobody was measured, the
verdict is that nothing was tested. An undecided one says what such an experiment would have seen.
"""

from __future__ import annotations

from typing import Literal

from pipeline.core.schema import Json

Verdict = Literal["supported", "contradicted", "undecided", "not tested"]


def verdict(row: Json, direction: Literal[1, -1] = 1) -> Verdict:
    """Of a difference with its interval (`evals.stats.contrasts.Difference`, or a part of report.json) on the claim
    that it is above 0, or below with `direction` -1."""
    low, high, p = row["low"], row["high"], row.get("p", 1.0)  # without a p nothing told how far it spreads
    if any(each is None or each != each for each in (low, high, p)):
        return "not tested"
    if low <= 0 <= high:
        return "undecided"
    return "supported" if (low > 0) == (direction > 0) else "contradicted"


def in_words(row: Json, direction: Literal[1, -1] = 1) -> str:
    """The verdict, and with an undecided one the true difference that about three in four such experiments find."""
    found = verdict(row, direction)
    if found != "undecided" or row["detectable"] is None:
        return found
    return f"undecided (a difference of {row['detectable']:.2f} is found by three in four such runs)"

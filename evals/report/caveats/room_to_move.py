"""Could the primary contrast have come out otherwise? A rate near 0 has no room to fall, one near 1 none to rise.

Where a contrast shows no difference, and the smallest that it would have seen is larger than the room which its second
side leaves in a direction, that direction was not tested. `maieutic compare` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from evals.metrics.metric import SignedSum, is_null, ratio
from evals.stats.intervals import Tables, estimate
from pipeline.core.schema import Json


class Room(NamedTuple):
    """How much lower and higher a metric of shares could be than it is; NaN where it was not measured."""

    down: float
    up: float


def room(tables: Tables, total: SignedSum) -> Room:
    """Each share moves to 0 or 1, whichever moves the sum that way. Nulls stay where they are: who comes to something
    unasked does not do so the less for being asked."""
    moving = [
        (weight, estimate(tables, ratio(name)).value) for name, weight in total.weights.items() if not is_null(name)
    ]
    return Room(
        sum(weight * value if weight > 0 else -weight * (1 - value) for weight, value in moving),
        sum(weight * (1 - value) if weight > 0 else -weight * value for weight, value in moving),
    )


def without_room(row: Json, tables: Mapping[str, Tables], total: SignedSum) -> list[str]:
    """Of a primary contrast that shows no difference: in which direction it had less room than it would have seen."""
    if row["b"] not in tables or not total.shares or total.of_mix or not row["low"] <= 0 <= row["high"]:
        return []
    a, b, metric, found = row["a"], row["b"], row["metric"], room(tables[row["b"]], total)
    cramped = {way: most for way, most in (("lower", found.down), ("higher", found.up)) if most < row["detectable"]}
    if not cramped:
        return []
    most = " and ".join(f"{way} by about {most:.2f}" for way, most in cramped.items())
    return [
        f"{metric} could be {most} at most under {a} than under {b}, and {row['detectable']:.2f} would have been seen: "
        f"whether it is {' or '.join(cramped)} was not tested."
    ]

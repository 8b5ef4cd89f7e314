"""How figures are written: for people, alike on every page and in the terminal, and for JSON."""

from __future__ import annotations

import math
from typing import Any

from pipeline.core.schema import Json


def number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A value for people; a dash where there was nothing to divide by."""
    if value is None:
        return "–"
    shown = (value if sign else round(value, digits)) + 0.0  # a minus before 0.00 only where the sign is what counts
    return f"{shown:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def interval(row: Json | None, digits: int = 2, sign: bool = False) -> str:
    """The two ends of an interval, a minus before 0.00 where an end is below 0; a dash where there is none."""
    if row is None or row["low"] is None or row["high"] is None:
        return "–"
    ends = [round(row[end], 9) for end in ("low", "high")]  # what adding shares up leaves is no side of 0
    return " to ".join(number(end, digits, sign) if end >= 0 else number(end, digits, True) for end in ends)


def clean(value: Any) -> Any:
    """The same, fit for JSON: no NaN, no infinity, six significant digits."""
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value

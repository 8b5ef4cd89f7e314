"""How figures are written for people: numbers and intervals alike on every page and in the terminal."""

from __future__ import annotations

from pipeline.core.schema import Json


def number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A value for people; a dash where there was nothing to divide by."""
    if value is None:
        return "–"
    shown = (value if sign else round(value, digits)) + 0.0  # a minus before 0.00 only where the sign is what counts
    return f"{shown:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def interval(row: Json | None, digits: int = 2, sign: bool = False) -> str:
    """The two ends of an interval; a dash where there is none."""
    if row is None or row["low"] is None or row["high"] is None:
        return "–"
    return f"{number(row['low'], digits, sign)} to {number(row['high'], digits, sign)}"

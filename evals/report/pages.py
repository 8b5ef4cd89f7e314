"""How pages are rendered: one look, and numbers written alike."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

Json = dict[str, Any]


def environment() -> Environment:
    """Of the templates in evals/templates; what goes into HTML is escaped."""
    env = Environment(
        loader=PackageLoader("evals"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: bool(name and "html" in name),
    )
    env.filters.update(number=number, interval=interval)
    return env


def number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A value for people; a dash where there was nothing to divide by."""
    if value is None:
        return "–"
    shown = (value if sign else round(value, digits)) + 0.0  # a minus before 0.00 only where the sign is what counts
    return f"{shown:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def interval(row: Json | None, digits: int = 2, sign: bool = False) -> str:
    if row is None or row["low"] is None or row["high"] is None:
        return "–"
    return f"{number(row['low'], digits, sign)} to {number(row['high'], digits, sign)}"

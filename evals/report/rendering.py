"""How pages are rendered: one look for all."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from evals.stats.number_format import interval, number

SCHEME = Path(__file__).parents[1] / "templates" / "scheme.css"  # the colours, light and dark, of all pages


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

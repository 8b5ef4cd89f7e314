"""The shape table as one heat map: colour and number are the difference from the base."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from evals.report.figures import INK, MUTED, STYLE, as_table, svg, tinted
from evals.stats.number_format import interval, number
from pipeline.core.schema import Json

STRONGEST = 0.5  # a difference at which the colour is full
STANDS, LEFT = "*", "◆"
KEY = (
    f"{STANDS} the interval leaves out 0   {LEFT} it still does, on the same side, with selection taken out (yoked, "
    "and first acts as played, as far as these were run)"
)


def marked(cell: Json) -> str:
    """A difference as both page and figure show it; a dash where there is none."""
    marks = (STANDS if cell["stands"] else "") + (LEFT if cell["stands_without_selection"] else "")
    return number(cell["found"]["value"], 2, True) + marks


def shape_figure(block: Json | None) -> str:
    """Of a block without NaN (`evals.stats.number_format.clean`): blue above the base, orange below."""
    if block is None:
        return ""
    rows, columns = block["rows"], block["columns"]
    values = [[cell["found"]["value"] for cell in row.values()] for row in rows.values()]
    with matplotlib.rc_context(STYLE):
        width = 1.9 + 1.15 * len(columns)
        figure = Figure(figsize=(width, 1.7 + 0.46 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.imshow(tinted(values, STRONGEST), aspect="auto")
        for y, row in enumerate(rows.values()):
            for x, cell in enumerate(row.values()):
                look: Any = {"ha": "center", "va": "center", "color": INK}
                weight = "bold" if cell["stands"] else "normal"
                axes.text(x, y - 0.15, marked(cell), fontsize=9.5, fontweight=weight, **look)
                axes.text(x, y + 0.24, interval(cell["found"], 2, True), fontsize=6.8, **look)
        headings = [f"{textwrap.fill(heading, 15)}\n{_broken(metric)}" for heading, metric in columns.items()]
        as_table(axes, headings, list(rows), fontsize=7.5)
        axes.set_ylabel("learned with", color=MUTED)
        axes.set_xlabel(textwrap.fill(KEY, round(15 * width)), fontsize=8, color=MUTED)
        return svg(figure)


def _broken(metric: str) -> str:
    return metric.replace("@", "\n@")

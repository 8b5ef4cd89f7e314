"""The transfer matrix: what students were trained on, by what they are examined on.

A row is a condition of the config, a column a metric of `compare.transfer`, a cell the condition less the untrained
base with its 95% interval over tasks and seeds (`evals.stats.contrasts.contrast`: both sat the same tasks). Bold leaves
out 0; an asterisk does so after Holm's correction over the whole matrix, since of many cells one in twenty leaves out 0
by chance. A dash is a condition that had nothing to learn from, or a metric without cases.

    maieutic run configs/transfer.yaml
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from rich.table import Table

from evals.metrics.catalog import Catalog
from evals.metrics.metric import SignedSum
from evals.report.figures import INK, MUTED, STYLE, as_table, svg, tinted
from evals.stats.contrasts import contrast, holm
from evals.stats.intervals import Tables, estimate
from evals.stats.number_format import interval, number
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment

STRONGEST = 0.5  # a difference at which the colour is full


def transfer_block(
    tables: Mapping[str, Tables], experiment: Experiment, names: Mapping[str, str], metrics: Catalog
) -> Json | None:
    """Cells by condition and column; None where the config names no columns or the base was not examined.

    `names` maps a condition to its name in `tables`.
    """
    columns = experiment.compare.transfer if experiment.compare else {}
    if not columns or "base" not in names:
        return None
    rows: dict[str, dict[str, Json]] = {}
    for name in experiment.conditions:
        pair = {shown: tables[shown] for shown in (names[name], names["base"])}
        rows[names[name]] = {
            heading: _cell(pair, metrics.signed_sum(metric), names[name], names["base"])
            for heading, metric in columns.items()
        }
    cells = [cell for row in rows.values() for cell in row.values()]
    for cell, p in zip(cells, holm([cell["p"] for cell in cells]), strict=True):
        cell |= {"p_holm": p, "apart": cell["low"] > 0 or cell["high"] < 0, "sure": p < 0.05}
    base = {
        heading: estimate(tables[names["base"]], metrics.signed_sum(metric))._asdict()
        for heading, metric in columns.items()
    }
    measured = [cell for cell in cells if cell["low"] == cell["low"]]
    counts = {"cells": len(measured), "apart": sum(cell["apart"] for cell in measured)}
    return {"columns": columns, "base": base, "rows": rows, "counts": counts}


def _cell(pair: Mapping[str, Tables], total: SignedSum, name: str, base: str) -> Json:
    row = contrast(pair, total, name, base)
    return {
        "value": row.difference,
        "low": row.low,
        "high": row.high,
        "p": row.p,
        "tasks": row.tasks,
        "seeds": row.seeds,
    }


def marked(cell: Json) -> str:
    """A difference as both page and figure show it; a dash where there is none."""
    return number(cell["value"], 2, True) + ("*" if cell["sure"] else "")


def transfer_table(block: Json) -> Table:
    """What a terminal shows, of a block without NaN (`evals.stats.number_format.clean`)."""
    table = Table(title="Trained on (rows), examined on (columns): difference from the base, 95% intervals")
    table.add_column("trained on", overflow="fold")
    for heading in block["columns"]:
        table.add_column(heading, overflow="fold")
    table.add_row("base", *(f"{number(rate['value'])} ({interval(rate)})" for rate in block["base"].values()))
    for name, row in block["rows"].items():
        style = {True: "bold", False: ""}
        cells = [(marked(cell), interval(cell, 2, True), style[cell["apart"]]) for cell in row.values()]
        table.add_row(name, *(f"[{bold or 'none'}]{text} ({span})[/]" for text, span, bold in cells))
    return table


def transfer_figure(block: Json | None) -> str:
    """The matrix as one heat map: blue above the base, orange below."""
    if block is None:
        return ""
    rows, columns = block["rows"], block["columns"]
    values = [[cell["value"] for cell in row.values()] for row in rows.values()]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.9 + 1.5 * len(columns), 1.3 + 0.5 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.imshow(tinted(values, STRONGEST), aspect="auto")
        for y, row in enumerate(rows.values()):
            for x, cell in enumerate(row.values()):
                look: Any = {"ha": "center", "va": "center", "color": INK}
                axes.text(x, y - 0.14, marked(cell), fontweight="bold" if cell["apart"] else "normal", **look)
                if cell["low"] is not None and cell["high"] is not None:
                    axes.text(x, y + 0.22, interval(cell, 2, True), fontsize=8, **look)
        named = [metric.replace("@", "\n@") for metric in columns.values()]
        headings = [f"{textwrap.fill(column, 18)}\n{name}" for column, name in zip(columns, named, strict=True)]
        as_table(axes, headings, list(rows), fontsize=8.5)
        axes.set_ylabel("trained on", color=MUTED)
        return svg(figure)

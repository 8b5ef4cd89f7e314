"""The shape table: what each kind of asymmetry teaches, and how much of it selection alone explains.

Rows are the conditions that learn from dialogues of their own, columns metrics of `compare.shapes`, a cell the student
less the untrained base. Beside each condition stand its controls, which learn from the same dialogues (`learns_from`):

  yoked      for each kept dialogue the next one of its task, whatever was said in it
  as_played  kept dialogues, counted so often that first acts come in the mix in which they were played
  matched    as many tokens as all other conditions, on the same tasks

What a control still differs by from the base is what is left; condition less control is what it took out. Null: nothing
is left. A cell stands where its interval leaves out 0, and without selection where those of `yoked` and `as_played` do,
too, on the same side, or that of the one that was run.

    maieutic compare runs/shapes
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from evals.metrics.catalog import Catalog
from evals.metrics.metric import SignedSum
from evals.stats.contrasts import contrast, holm
from evals.stats.intervals import Tables, estimate
from evals.stats.parts import Figure, Number, Part
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment

YOKED, AS_PLAYED, MATCHED = "yoked", "as_played", "matched"
WITHOUT_SELECTION = (YOKED, AS_PLAYED)
CONTROLS = {
    YOKED: "the next dialogue of the task for each that is kept",
    AS_PLAYED: "first acts in the mix in which they were played",
    MATCHED: "as many tokens as all others, on the same tasks",
}


class ShapeDifference(Part):
    """A difference with its 95% interval, and the true one that about three in four such experiments find."""

    value: Number
    low: Number
    high: Number
    p: Number
    detectable: Number
    tasks: int
    seeds: int


class ShapeCell(Part):
    """A condition less the base. By control: what is `left` of it, and what the control `took` out."""

    found: ShapeDifference
    p_holm: Number  # over all cells
    left: dict[str, ShapeDifference]
    took: dict[str, ShapeDifference]
    stands: bool
    stands_without_selection: bool


class Shapes(Part):
    """Learned from (rows), behaviour (columns; by heading the metric)."""

    columns: dict[str, str]
    base: dict[str, Figure]
    rows: dict[str, dict[str, ShapeCell]]
    controls: dict[str, dict[str, str]]  # of each row by kind, the condition's name
    counts: dict[str, int]


def control_of(experiment: Experiment, name: str) -> str:
    """Which control a condition is of the one that it learns from; '' for any other condition."""
    condition = experiment.conditions[name]
    if not condition.learns_from:
        return ""
    if condition.selection == "yoked":
        return YOKED
    if condition.first_acts == "as_played":
        return AS_PLAYED
    return MATCHED if condition.regime == "matched" else ""


def shapes_block(
    tables: Mapping[str, Tables], experiment: Experiment, names: Mapping[str, str], metrics: Catalog
) -> Json | None:
    """The fields of Shapes; None where the config names no columns or the base was not examined. `names` maps a
    condition to its name in `tables`."""
    columns = experiment.compare.shapes if experiment.compare else {}
    if not columns or "base" not in names:
        return None
    kinds = {name: control_of(experiment, name) for name in experiment.conditions}
    own = [name for name, kind in kinds.items() if not kind]
    controls = {
        names[name]: {
            kind: names[other]
            for other, kind in kinds.items()
            if kind and experiment.conditions[other].learns_from == name
        }
        for name in own
    }
    totals = {heading: metrics.signed_sum(metric) for heading, metric in columns.items()}
    rows = {
        name: {heading: _cell(tables, total, name, names["base"], of_row) for heading, total in totals.items()}
        for name, of_row in controls.items()
    }
    cells = [cell for row in rows.values() for cell in row.values()]
    for cell, p in zip(cells, holm([cell["found"]["p"] for cell in cells]), strict=True):
        cell["p_holm"] = p
    return {
        "columns": columns,
        "base": {heading: estimate(tables[names["base"]], total)._asdict() for heading, total in totals.items()},
        "rows": rows,
        "controls": controls,
        "counts": {
            "cells": sum(not math.isnan(cell["found"]["low"]) for cell in cells),
            "stand": sum(cell["stands"] for cell in cells),
            "stand_after_holm": sum(cell["p_holm"] < 0.05 for cell in cells),
            "stand_without_selection": sum(cell["stands_without_selection"] for cell in cells),
        },
    }


def _cell(tables: Mapping[str, Tables], total: SignedSum, name: str, base: str, controls: Mapping[str, str]) -> Json:
    def less(a: str, b: str) -> Json:
        row = contrast({a: tables[a], b: tables[b]}, total, a, b)
        ends = {"value": row.difference, "low": row.low, "high": row.high}
        return {**ends, "p": row.p, "detectable": row.detectable, "tasks": row.tasks, "seeds": row.seeds}

    found = less(name, base)
    left = {kind: less(control, base) for kind, control in controls.items()}
    side, tried = _side(found), [_side(left[kind]) for kind in WITHOUT_SELECTION if kind in left]
    return {
        "found": found,
        "p_holm": math.nan,
        "left": left,
        "took": {kind: less(name, control) for kind, control in controls.items()},
        "stands": bool(side),
        "stands_without_selection": bool(side) and set(tried) == {side},
    }


def _side(row: Json) -> int:
    """1 or -1 where an interval leaves out 0, else 0."""
    return int(row["low"] > 0) - int(row["high"] < 0)

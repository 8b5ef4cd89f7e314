"""What the talks of the exam `lost` come to: how able a student is, and how reliable.

Of the N talks on one task in one mode, k of them right, after Lost in Conversation (Laban et al., arXiv 2505.06120):

    P         k / N
    A90       the 90th percentile of the N scores: what the student can do on a good day (aptitude)
    U         the 90th less the 10th percentile (unreliability)
    variance  k/N (1 - k/N) N / (N - 1), the unbiased variance between talks on one task

each averaged over tasks and seeds. Percentiles are interpolated linearly. Where a score is right or wrong, A90 and U at
N = 10 say little: U is 0 for 0 or 10 right talks, .1 for 1 or 9, and 1 for everything between; hence the variance.

Differences between modes are paired by task and seed. `of_full` is a mode's mean divided by that of full, as the paper
quotes its figures (1 - .39 for P, sharded); NaN where full has none. Intervals are 95%, over tasks and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rich.table import Table

from evals.exams.lost.lost import MODES, SCORES
from evals.metrics.metric import ratio
from evals.stats.contrasts import contrast
from evals.stats.intervals import Cells, Rate, Tables, pooled
from evals.stats.number_format import interval, number
from evals.stats.parts import Figure, Part
from pipeline.core.schema import Json

STATISTICS = ("P", "A90", "U", "variance")
DIFFERENCES = (("full", "sharded"), ("concat", "sharded"), ("recap", "sharded"), ("snowball", "sharded"))


class LostStudent(Part):
    """Of each score: by mode and by pair of modes, every statistic."""

    samples: int
    cells: int  # tasks x seeds
    lost_final: dict[str, dict[str, dict[str, Figure]]]
    lost_any: dict[str, dict[str, dict[str, Figure]]]


class LostBlock(Part):
    """The part `lost` of report.json."""

    modes: tuple[str, ...]
    statistics: tuple[str, ...]
    students: dict[str, LostStudent]


def percentile(k: float, n: int, q: float) -> float:
    """Of n scores of which k are 1 and the others 0."""
    return float(np.percentile(np.repeat([0.0, 1.0], [n - int(k), int(k)]), q))


def variance(k: float, n: int) -> float:
    """Unbiased, of one score."""
    return k / n * (1 - k / n) * n / (n - 1)


OF_TASK: dict[str, Callable[[float, int], float]] = {
    "A90": lambda k, n: percentile(k, n, 90),
    "U": lambda k, n: percentile(k, n, 90) - percentile(k, n, 10),
    "variance": variance,
}


def lost_block(tables: Mapping[str, Tables]) -> Json | None:
    """For each condition that sat the exam, score and mode: every statistic with its interval; None where none did."""
    sat = {name: _student(table) for name, table in tables.items() if (f"{SCORES[0]}@{MODES[0]}", False) in table}
    return {"modes": MODES, "statistics": STATISTICS, "students": sat} if sat else None


def _student(tables: Tables) -> Json:
    cells = {(score, mode): tables[f"{score}@{mode}", False] for score in SCORES for mode in MODES}
    talks = [n for _, n in cells[SCORES[0], "full"].values()]
    block: Json = {"samples": max(talks), "cells": len(talks)}
    for score in SCORES:
        by_statistic = {name: {mode: _cells(name, cells[score, mode]) for mode in MODES} for name in STATISTICS}
        block[score] = {
            "modes": {
                mode: {name: _rate(by_mode[mode]) for name, by_mode in by_statistic.items()}
                | {f"{name}_of_full": _of(by_mode[mode], by_mode["full"]) for name, by_mode in by_statistic.items()}
                for mode in MODES
            },
            "differences": {
                f"{a} - {b}": {name: _difference(by_mode, a, b) for name, by_mode in by_statistic.items()}
                for a, b in DIFFERENCES
            },
        }
    return block


def _cells(statistic: str, cells: Cells) -> Cells:
    """One value a task and seed, for each of its talks: n counts talks, as in P. One talk alone has no spread."""
    if statistic == "P":
        return cells
    return {key: (OF_TASK[statistic](k, n) * n, n) for key, (k, n) in cells.items() if n > 1}


def _rate(cells: Cells) -> Json:
    return pooled(cells)._asdict()


def _of(cells: Cells, full: Cells) -> Json:
    """The ratio of two means over the same tasks and seeds; n counts these. Full's own is 1, for sure."""
    shared = sorted(cells.keys() & full.keys())
    whole = sum(full[key][0] for key in shared)
    if whole == 0 or cells is full:
        return Rate(1.0 if whole else math.nan, math.nan, math.nan, len(shared))._asdict()
    # Scaled so that the whole problem's mean is 1: the ratio stays what it is, and its n is a count of talks.
    scale = sum(full[key][1] for key in shared) / whole
    scaled: Any = {key: (cells[key][0] * scale, full[key][0] * scale) for key in shared}
    return pooled(scaled, limits=(0.0, math.inf))._replace(n=len(shared))._asdict()


def _difference(by_mode: Mapping[str, Cells], a: str, b: str) -> Json:
    tables: dict[str, Tables] = {mode: {("score", False): cells} for mode, cells in by_mode.items()}
    row = contrast(tables, ratio("score"), a, b)
    return {"value": row.difference, "low": row.low, "high": row.high, "n": row.tasks}


def lost_tables(block: Json) -> list[Table]:
    """What a terminal shows, of a block without NaN (`evals.stats.number_format.clean`)."""
    table = Table(
        title="Underspecified conversation: the last answer, 95% intervals",
        caption="N talks of each task in each mode. of full: P as a share of what the whole problem gives. Any: P "
        "where the first right attempt wins, which rewards guessing.",
    )
    for heading in ("student", "mode", "N", "tasks x seeds", "P", "A90", "U", "variance", "of full", "any"):
        table.add_column(heading, overflow="fold")
    for name, student in block["students"].items():
        for mode in block["modes"]:
            row, other = (student[score]["modes"][mode] for score in SCORES)
            shown = [row["P"], row["A90"], row["U"], row["variance"], row["P_of_full"], other["P"]]
            counts = str(student["samples"]), str(student["cells"])
            table.add_row(name, mode, *counts, *(f"{number(rate['value'])} ({interval(rate)})" for rate in shown))
    paired = Table(title="Paired differences of the last answer, by task and seed")
    for heading in ("student", "modes", *block["statistics"]):
        paired.add_column(heading, overflow="fold")
    for name, student in block["students"].items():
        for modes, row in student[SCORES[0]]["differences"].items():
            cells = (f"{number(row[key]['value'], 3, True)} ({interval(row[key], 3, True)})" for key in row)
            paired.add_row(name, modes, *cells)
    return [table, paired]

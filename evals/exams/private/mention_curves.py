"""When a private thing is first said: survival curves of the exam on private information.

S(T) is the share of talks in which the student has not said its secret by its Tth turn: Kaplan and Meier's product of
1 - hits / n over the turns up to T, where n counts the talks whose Tth student turn was said with the secret unsaid
before (`first_mention` in `evals.exams.private.private`). A talk that ends with the secret unsaid is censored there.
Talks of one scenario are not independent: intervals are percentiles of a bootstrap over scenarios, and Wilson's over
scenarios where all draws are equal. After the last turn that a talk reached S is unknown (NaN), unless it is 0 already.

    maieutic eval CONFIG     # with `private` in exams.include
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from rich.table import Table

from evals.exams.registry import sat
from evals.metrics.case import Case
from evals.metrics.case_file import cases_of
from evals.sitting.examined_run import Run
from evals.stats.bootstrap import cluster_bootstrap, percentiles
from evals.stats.parts import Figure, Part
from pipeline.core.schema import Json
from pipeline.experiment.cell import Cell
from pipeline.judging.wilson import wilson_interval
from pipeline.runs.student_files import results_path

NAME = "private"  # of the exam
METRIC = "first_mention"


class SurvivalPoint(Figure):
    """The share of talks in which the secret is still unsaid after so many of the student's turns."""

    turn: int


class Mentions(Part):
    """When a private thing is first said: by student and mode a survival curve."""

    turns: int
    students: dict[str, dict[str, tuple[SurvivalPoint, ...]]]


def curve(cases: Iterable[Case], mode: str, turns: int) -> list[Json]:
    """One point a turn: survival with its interval, and n, the talks at risk in that turn. Some case must be of it."""
    of_mode = [case for case in cases if _is_mention(case) and case.metric.endswith("@" + mode)]
    row = {task: i for i, task in enumerate(sorted({case.task for case in of_mode}))}
    hits, n = np.zeros((len(row), turns)), np.zeros((len(row), turns))
    for case in of_mode:
        turn = int(case.metric.partition("/")[2].split("@")[0]) - 1
        hits[row[case.task], turn] += case.hits
        n[row[case.task], turn] += case.n
    value = _survival(hits.sum(axis=0), n.sum(axis=0))
    weights = cluster_bootstrap(len(row))
    draws = _survival(weights @ hits, weights @ n)
    there = (n > 0).sum(axis=0)
    at_risk = np.minimum.accumulate(np.where(there > 0, there, len(row)))  # the fewest so far: the product rests on all
    return [
        {"turn": i + 1, "n": int(n[:, i].sum()), "value": float(value[i])}
        | dict(zip(("low", "high"), _interval(float(value[i]), draws[:, i], int(at_risk[i])), strict=True))
        for i in range(turns)
    ]


def _is_mention(case: Case) -> bool:
    return case.metric.startswith(f"{METRIC}/")


def _survival(hits: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The running product of 1 - hits / n along the last axis, shape as given."""
    stays = 1 - np.divide(hits, n, out=np.full(hits.shape, np.nan), where=n > 0)
    left = np.cumprod(stays, axis=-1)
    gone = np.cumsum(stays == 0, axis=-1) > 0
    return np.where(gone, 0.0, left)


def _interval(value: float, draws: np.ndarray, scenarios: int) -> tuple[float, float]:
    low, high = percentiles(draws)
    if math.isnan(value) or math.isnan(low):
        return math.nan, math.nan
    if low == high:
        low, high = wilson_interval(round(value * scenarios), scenarios)
    return min(value, low), max(value, high)


def mentions(run: Run) -> Json | None:
    """Of each name's students the curves by mode, all seeds together; None where the run has no such exam, or no
    result of it yet.
    """
    experiment = run.experiment
    if not sat(NAME, experiment):
        return None
    students: Json = {}
    for name, shown in run.names.items():
        cases = [case for seed in experiment.seeds for case in _cases(results_path(Cell(experiment, name, seed)))]
        modes = sorted({case.metric.partition("@")[2] for case in cases})
        if modes:
            students[shown] = {mode: curve(cases, mode, experiment.exam_turns) for mode in modes}
    return {"turns": experiment.exam_turns, "students": students} if students else None


def _cases(path: Path) -> list[Case]:
    return [case for case in cases_of(path) if _is_mention(case)] if path.is_file() else []


def mentions_of_students(run: Run) -> list[Table]:
    """What a terminal shows of a run."""
    block = mentions(run)
    return [mention_table(block)] if block else []


def mention_table(block: Json) -> Table:
    table = Table(
        title="Private information: talks in which the student has not said its secret",
        caption="After its turn of that number, with a 95% interval over scenarios; n: talks at risk in that turn.",
    )
    for heading in ("student", "mode", *(f"turn {i + 1}" for i in range(block["turns"]))):
        table.add_column(heading, overflow="fold")
    for name, modes in block["students"].items():
        for mode, points in modes.items():
            table.add_row(name, mode, *map(_point, points))
    return table


def _point(point: Json) -> str:
    if math.isnan(point["value"]):
        return "–"
    return f"{point['value']:.2f} ({point['low']:.2f} to {point['high']:.2f}, n {point['n']})"

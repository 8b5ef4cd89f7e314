"""Whether students can do what an exam asks at all, to be read before its other figures.

A figure of an exam says nothing of the disposition of a student that cannot do what is asked in it: who solves no
problem shows no loss in shards. Each exam names its bars (evals.sitting.exam.Bar).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from evals.sitting.exam import Bar, Exam
from evals.stats.parts import Figure, Part
from pipeline.core.schema import Json

Stands = Literal["reached", "not reached", "open"]


class Reached(Figure):
    """A student's figure at a bar; `stands` says where its interval lies."""

    stands: Stands


class Competence(Part):
    """One bar of an exam, and who reaches it; only students with cases of it are here."""

    exam: str
    metric: str
    above: float
    students: dict[str, Reached]


def competence_block(conditions: Mapping[str, Json], exams: Iterable[Exam]) -> list[Json]:
    """A row for each bar that any condition has a figure of, in the order of the exams. `conditions` are the summary's,
    before NaN is taken out."""
    bars = {(exam.name, bar): None for exam in exams for bar in exam.competence}
    rows = []
    for exam, bar in bars:
        rates = {name: entry["metrics"].get(bar.metric) for name, entry in conditions.items()}
        students = {name: _reached(rate, bar) for name, rate in rates.items() if rate and rate["n"]}
        if students:
            rows.append({"exam": exam, "metric": bar.metric, "above": bar.above, "students": students})
    return rows


def _reached(rate: Json, bar: Bar) -> Json:
    stands: Stands = "open"
    if rate["low"] > bar.above:
        stands = "reached"
    elif rate["high"] <= bar.above:
        stands = "not reached"
    return {key: rate[key] for key in ("value", "low", "high", "n")} | {"stands": stands}


def unable(block: Iterable[Json]) -> list[str]:
    """A line on who is not shown to reach which exam's bars; none where all are."""
    lacking: dict[str, list[str]] = {}
    for row in block:
        for name, reached in row["students"].items():
            if reached["stands"] != "reached" and row["exam"] not in lacking.setdefault(name, []):
                lacking[name].append(row["exam"])
    told = "; ".join(f"{name}: {', '.join(exams)}" for name, exams in lacking.items() if exams)
    if not told:
        return []
    return [
        f"Not shown to do what an exam asks, all of it: {told}. What hangs on that says nothing there of a disposition "
        "(the table of competence)."
    ]

"""Whether students can do what an exam asks at all, to be read before its other figures.

A figure of an exam says nothing of the disposition of a student that cannot do what is asked in it: who solves no
problem shows no loss in shards. Each exam names its bars (evals.sitting.exam.Bar).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

from evals.metrics.metric import Metric, metric_name
from evals.sitting.exam import Bar, Exam
from evals.stats.parts import Figure, Part
from pipeline.core.schema import Json

Stands = Literal["reached", "not reached", "open", "no case"]
MOST_SILENCE = 0.02  # share of scenarios that were not answered, from where no bar is known to be reached
MARKS: dict[Stands, str] = {"not reached": "✕", "open": "?", "no case": "?"}


class Reached(Figure):
    """A student's figure at a bar; `stands` says where its interval lies: above, at most at the bar, on both sides. Who
    answers nothing in more than MOST_SILENCE of the scenarios, which are left out, reaches none."""

    stands: Stands


class Competence(Part):
    """One bar of an exam, and who reaches it; only students that have sat the exam are here. `of` as `Bar` has it."""

    exam: str
    metric: str
    above: float
    of: tuple[str, ...]
    students: dict[str, Reached]


def competence_block(conditions: Mapping[str, Json], exams: Iterable[Exam]) -> list[Json]:
    """A row for each bar of an exam that any condition has sat, in the order of the exams. `conditions` are the
    summary's, before NaN is taken out."""
    bars = {(exam.name, bar): exam.metrics for exam in exams for bar in exam.competence}
    rows = []
    for (exam, bar), own in bars.items():
        students = {
            name: _reached(entry["metrics"].get(bar.metric), bar, _silence(entry["metrics"]))
            for name, entry in conditions.items()
            if any(rate["n"] and bar.holds(each) and _of(own, each) for each, rate in entry["metrics"].items())
        }
        if students:
            rows.append({"exam": exam, **bar._asdict(), "students": students})
    return rows


def _of(metrics: Iterable[Metric], name: str) -> bool:
    """Whether a figure, with its scope, is one of these; another exam may have the same name in other scopes."""
    scope = name.partition("@")[2]
    return any(each.name == metric_name(name) and (not each.scopes or scope in each.scopes) for each in metrics)


def _silence(metrics: Mapping[str, Json]) -> float:
    """The share of scenarios that no rate counts, since nothing was said in them, or nothing that could be read: the
    hard ones, may be."""
    return sum(float((metrics.get(name) or {}).get("value") or 0.0) for name in ("unanswered", "unread"))


def _reached(rate: Json | None, bar: Bar, silence: float) -> Json:
    if rate is None or not rate["n"]:
        return {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0, "stands": "no case"}
    stands: Stands = "open"
    if rate["low"] > bar.above and not silence > MOST_SILENCE:
        stands = "reached"
    elif rate["high"] <= bar.above:
        stands = "not reached"
    return {key: rate[key] for key in ("value", "low", "high", "n")} | {"stands": stands}


def mark_of(block: Iterable[Json], exam: str, metric: str, condition: str) -> str:
    """What stands beside a figure whose bar is not reached (✕) or not known to be (?); '' otherwise."""
    stands = {
        MARKS.get(row["students"][condition]["stands"], "")
        for row in block
        if row["exam"] == exam
        and condition in row["students"]
        and Bar(row["metric"], row["above"], row["of"]).holds(metric)
    }
    return "✕" if "✕" in stands else "?" if "?" in stands else ""


def unable(block: Iterable[Json]) -> list[str]:
    """Lines on who cannot do what which exams ask, and of whom it is not known; none where all reach their bars."""
    lacking: dict[str, dict[str, dict[str, None]]] = {"✕": {}, "?": {}}
    for row in block:
        for name, reached in row["students"].items():
            if mark := MARKS.get(reached["stands"], ""):
                lacking[mark].setdefault(row["exam"], {})[name] = None
    told = {
        mark: "; ".join(f"{exam} ({', '.join(names)})" for exam, names in of.items()) for mark, of in lacking.items()
    }
    lines = {
        "✕": "Cannot do, in part or in whole, what these exams ask: {}.",
        "?": "Not known to be able to do, in part or in whole, what these exams ask: {}.",
    }
    return [
        f"{lines[mark].format(exams)} Figures that hang on that are marked {mark}, and say nothing of dispositions."
        for mark, exams in told.items()
        if exams
    ]

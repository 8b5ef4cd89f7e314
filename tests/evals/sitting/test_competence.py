"""evals.sitting.competence: whether a student can do what an exam asks, beside every other figure of that exam."""

from __future__ import annotations

import math

from evals.exams.registry import EXAMS, exams_of, find_exam
from evals.metrics.metric import metric_name
from evals.sitting.competence import competence_block, unable
from tests.builders import small_experiment


def of(low: float, high: float, n: int = 24) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high, "n": n}


def block(**figures: dict[str, float]) -> list[dict]:
    """Of `lost`, and of `agreement`, which nobody has a figure of."""
    run = small_experiment(exams={"include": ["lost", "agreement"]})
    conditions = {name: {"metrics": {"lost_final@full": figure}} for name, figure in figures.items()}
    return competence_block({**conditions, "not_examined": {"metrics": {}}}, exams_of(run))


def test_a_bar_is_reached_by_an_interval_above_it():
    (row,) = block(base=of(0.6, 0.9), facts=of(0.4, 0.9), blind=of(0.1, 0.5))
    assert (row["exam"], row["metric"], row["above"]) == ("lost", "lost_final@full", 0.5)
    assert {name: at["stands"] for name, at in row["students"].items()} == {
        "base": "reached",
        "facts": "open",
        "blind": "not reached",
    }


def test_who_has_no_case_is_in_no_row():
    assert block(base=of(math.nan, math.nan, n=0)) == []


def test_who_is_not_shown_to_reach_a_bar_is_named_once_an_exam():
    (line,) = unable(block(base=of(0.6, 0.9), facts=of(0.4, 0.9)) * 2)
    assert "facts: lost." in line and "base" not in line
    assert unable(block(base=of(0.6, 0.9))) == []


def test_every_bar_is_of_a_metric_of_its_own_exam():
    for exam in map(find_exam, EXAMS):
        named = {metric_name(bar.metric) for bar in exam.competence}
        assert named <= {metric.name for metric in exam.metrics}, exam.name

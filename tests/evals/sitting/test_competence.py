"""evals.sitting.competence: whether a student can do what an exam asks, beside every other figure of that exam."""

from __future__ import annotations

import math
from pathlib import Path

from evals.exams.registry import EXAMS, catalog, exams_of, find_exam
from evals.sitting.competence import competence_block, mark_of, unable
from evals.sitting.exam import measured_by
from pipeline.experiment.experiment import load
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


def test_of_who_falls_silent_in_talks_no_bar_is_known_to_be_reached():
    run = small_experiment(exams={"include": ["lost"]})
    spoke, silent = ({"lost_final@full": of(0.9, 1.0), "unanswered": of(share, share)} for share in (0.01, 0.4))
    (row,) = competence_block({"spoke": {"metrics": spoke}, "silent": {"metrics": silent}}, exams_of(run))
    assert [at["stands"] for at in row["students"].values()] == ["reached", "open"]


def test_who_has_no_case_of_the_exam_is_in_no_row():
    assert block(base=of(math.nan, math.nan, n=0)) == []


def test_a_figure_of_another_exam_with_the_same_name_is_no_sitting():
    run = small_experiment(exams={"include": ["agreement", "collapse"]})
    shared = {"metrics": {"agreement": of(0.1, 0.2), "collapse": of(0.1, 0.2)}}  # without a scope: collapse's
    own = {"metrics": {"collapse@cross": of(0.1, 0.2)}}
    made = competence_block({"sat": own, "sat_another": shared}, exams_of(run))
    assert {name for row in made for name in row["students"]} == {"sat"}


def test_who_has_cases_of_an_exam_and_none_of_its_bar_is_not_known():
    run = small_experiment(exams={"include": ["lost"]})
    conditions = {"base": {"metrics": {"lost_final@sharded": of(0.6, 0.9)}}}
    made = competence_block(conditions, exams_of(run))
    assert made[0]["students"]["base"]["stands"] == "no case"
    assert mark_of(made, "lost", "lost_final@sharded", "base") == "?"


def test_an_interval_that_touches_its_bar_is_not_above_it():
    (row,) = block(base=of(0.5, 0.9), facts=of(0.2, 0.5))
    assert [at["stands"] for at in row["students"].values()] == ["open", "not reached"]


def test_who_cannot_and_of_whom_it_is_not_known_are_told_apart_by_exam():
    cannot, unknown = unable(block(base=of(0.6, 0.9), facts=of(0.4, 0.9), blind=of(0.1, 0.4)) * 2)
    assert cannot.startswith("Cannot do") and "lost (blind)" in cannot and "marked ✕" in cannot
    assert "lost (facts)" in unknown and "base" not in cannot + unknown
    assert unable(block(base=of(0.6, 0.9))) == []


def test_only_what_hangs_on_a_bar_is_marked():
    run = small_experiment(exams={"include": ["spread"]})
    metrics = {"about_thing_net@plain": of(0.6, 0.9), "about_thing_net@exploratory": of(0.0, 0.2)}
    metrics |= {f"spread@{way}": of(0.1, 0.3) for way in ("plain", "exploratory")}
    made = competence_block({"a/base": {"metrics": metrics}}, exams_of(run))
    marks = [mark_of(made, "spread", f"spread@{way}", "a/base") for way in ("plain", "exploratory", "combinational")]
    assert marks == ["", "✕", ""]


def test_every_bar_is_a_figure_of_its_own_exam_with_its_scope(monkeypatch):
    monkeypatch.setenv("MAIEUTIC_DATA", "/nowhere")
    run = load(Path("configs/exams_smollm2.yaml"), ("exams.persuader={exchange: free}", "exams.helper=model"))
    for exam in (exam for exam in map(find_exam, EXAMS) if exam.competence):
        offered = set(catalog([exam]).offered(measured_by(exam, run, True)))
        assert {bar.metric for bar in exam.competence} <= offered, exam.name
        assert all(any(bar.holds(name) for name in offered - {bar.metric}) for bar in exam.competence[1:]), exam.name

"""The shape table on hand-made cases: what stands, what selection explains, and the page that says so."""

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evals.exams.registry import catalog_of
from evals.metrics.case import Case
from evals.report.figures import svg_file
from evals.report.shapes.shape_figure import LEFT, STANDS, marked, shape_figure
from evals.report.shapes.shape_page import judged, page, same_by_lot, tries, yoked_twin
from evals.report.shapes.shape_table import control_of, shapes_block
from evals.stats.intervals import tabulate
from evals.stats.number_format import clean
from pipeline.experiment.experiment import Experiment, dump, load
from tests.builders import small_experiment

CONFIGS = Path(__file__).parents[3] / "configs"
METRIC, NAMES = "open_question", ("facts", "facts_yoked", "facts_as_played", "facts_matched", "solo")
CONDITIONS = {
    "facts": {"partition": "facts"},
    "facts_yoked": {"partition": "facts", "learns_from": "facts", "selection": "yoked"},
    "facts_as_played": {"partition": "facts", "learns_from": "facts", "first_acts": "as_played"},
    "facts_matched": {"partition": "facts", "learns_from": "facts", "regime": "matched"},
    "solo": {"partition": "solo"},
}


def experiment(out: Path | str = "") -> Experiment:
    return small_experiment(
        out,
        tasks={"source": "hidden_item", "train": {"full": 2}, "exam": {"underspecified": 2}},
        dialogue={"per_task": 4},
        conditions=CONDITIONS,
        exams={"include": ["narrowing"]},
        compare={
            "primary": {"metric": METRIC, "a": "facts", "b": "solo"},
            "shapes": {"asks": METRIC, "never sat": "gave_in@misled"},
        },
    )


METRICS = catalog_of([experiment()])


def tables(share: float):
    """Three seeds, forty tasks, eight draws; every task has the same share but for two in three."""
    return tabulate(
        {
            seed: [
                Case(
                    exam="e",
                    task=f"t{i}",
                    metric=METRIC,
                    n=8,
                    hits=min(8, max(0, 8 * share + (i % 3 == 0) - (i % 3 == 1))),
                )
                for i in range(40)
            ]
            for seed in (1, 2, 3)
        }
    )


def block(**shares: float):
    shown = {name: tables(shares.get(name, 0.25)) for name in ("base", *NAMES)}
    return shapes_block(shown, experiment(), {name: name for name in shown}, METRICS)


def test_each_control_stands_beside_the_condition_that_it_learns_from():
    made = block()
    assert list(made["rows"]) == ["facts", "solo"]
    assert made["controls"]["facts"] == {
        "yoked": "facts_yoked",
        "as_played": "facts_as_played",
        "matched": "facts_matched",
    }
    assert control_of(experiment(), "solo") == control_of(experiment(), "facts") == ""


@pytest.mark.parametrize(
    ("shares", "marks"),
    [
        ({"facts": 0.5}, STANDS),  # all of it is selection
        ({"facts": 0.5, "facts_yoked": 0.5}, STANDS),  # yoking alone is not enough
        ({"facts": 0.5, "facts_yoked": 0.5, "facts_as_played": 0.5}, STANDS + LEFT),
        ({"facts": 0.5, "facts_yoked": 0.0, "facts_as_played": 0.0}, STANDS),  # what is left lies on the other side
        ({"facts_yoked": 0.5, "facts_as_played": 0.5}, ""),
    ],
)
def test_a_cell_stands_without_selection_where_both_controls_do_on_its_side(shares, marks):
    cell = clean(block(**shares))["rows"]["facts"]["asks"]
    assert marked(cell).endswith(marks) and marked(cell).count(STANDS) + marked(cell).count(LEFT) == len(marks)


@pytest.mark.parametrize(("yoked", "marks"), [(0.5, STANDS + LEFT), (0.25, STANDS)])
def test_where_one_control_was_run_it_decides(yoked, marks):
    run = experiment()
    conditions = {name: of for name, of in run.conditions.items() if name != "facts_as_played"}
    shown = {name: tables({"facts": 0.5, "facts_yoked": yoked}.get(name, 0.25)) for name in ("base", *conditions)}
    made = shapes_block(
        shown, run.model_copy(update={"conditions": conditions}), {name: name for name in shown}, METRICS
    )
    assert marked(clean(made)["rows"]["facts"]["asks"]).endswith(marks)
    assert tries(clean(made), None)[0]["selection"] == ("stands" if LEFT in marks else "falls")


def test_what_a_control_took_and_what_it_left_add_up_to_what_was_found():
    cell = block(facts=0.75, facts_yoked=0.375)["rows"]["facts"]["asks"]
    for kind in ("yoked", "as_played", "matched"):
        assert math.isclose(cell["took"][kind]["value"] + cell["left"][kind]["value"], cell["found"]["value"])


def test_holm_corrects_over_all_cells_of_the_shape_table():
    made = block(facts=0.27)
    cells = [cell for row in made["rows"].values() for cell in row.values()]
    [smallest] = [cell for cell in cells if cell["stands"]]
    p = smallest["found"]["p"]
    assert 1e-6 < p < 0.05 and smallest["p_holm"] == pytest.approx(len(cells) * p, rel=1e-6, abs=0)


def test_a_metric_that_nobody_was_measured_on_stands_nowhere():
    made = clean(block(facts=0.5))
    assert marked(made["rows"]["facts"]["never sat"]) == "–" and made["counts"]["cells"] == 2
    assert made["counts"] | {"cells": 0} == {
        "cells": 0,
        "stand": 1,
        "stand_after_holm": 1,
        "stand_without_selection": 0,
    }


def test_a_cell_that_a_shuffled_student_has_as_well_falls():
    [found] = tries(clean(block(facts=0.5, facts_yoked=0.5, facts_as_played=0.5)), clean(block(solo=0.625)))
    assert (found["selection"], found["volume"], found["luck"]) == ("stands", "falls", "stands")
    assert found["shuffled"].startswith("falls")
    [alone] = tries(clean(block(facts=0.5)), clean(block()))
    assert (alone["selection"], alone["shuffled"]) == ("falls", "stands")


@pytest.mark.parametrize("controls", [True, False])
def test_a_page_speaks_of_selection_taken_out_where_a_control_was_run(controls: bool, tmp_path: Path) -> None:
    made = experiment(tmp_path)
    kept = {name: each for name, each in made.conditions.items() if controls or not each.learns_from}
    made = made.model_copy(update={"conditions": kept})
    shown = {name: tables({"facts": 0.5}.get(name, 0.25)) for name in ("base", *kept)}
    row = {"metric": METRIC, "a": "facts", "b": "solo", "difference": 0.3, "low": 0.2, "high": 0.4, "detectable": 0.1}
    nothing = dict.fromkeys(("prior", "keep_ask", "keep_no", "ask_rate", "low", "high"))
    counts = {"dialogues": 8, "selected": 4}
    budgets = {"trained_rows": 4, "optimizer_steps": 1, "trained_tokens": 40}
    counted = {"counts": counts, "budgets": budgets, "predicted": nothing}
    report = {
        "shapes": shapes_block(shown, made, {name: name for name in shown}, METRICS),
        "comparisons": [row | {"primary": True, "family": None, "p_holm": None}],
        "conditions": dict.fromkeys(kept, counted),
    }
    (tmp_path / "config.yaml").write_text(dump(made), encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps(clean(report)), encoding="utf-8")
    text = page(tmp_path, None, "figure.svg")
    assert ("left, yoked" in text, "No control was run here" in text) == (controls, not controls)
    assert "supported, not tried with selection taken out" in text and "| facts | +0.25" in text
    heads = [line for line in text.splitlines() if line.startswith("| learned with | found")]
    rows = [line for line in text.splitlines() if line.startswith("| facts | +0.25")]
    assert {line.count("|") for line in [heads[0], rows[0]]} == {7 if controls else 3}


def test_the_figure_has_every_row_and_every_number():
    text = shape_figure(clean(block(facts=0.5)))
    assert all(word in text for word in ("facts", "solo", "+0.25*", "asks")) and shape_figure(None) == ""


def test_the_figure_as_a_file_is_a_document_that_knows_its_colours():
    drawn = svg_file(shape_figure(clean(block(facts=0.5))))
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    assert set(re.findall(r"var\((--[\w-]+)\)", drawn)) <= set(re.findall(r"(--[\w-]+):", drawn))


def test_a_contrast_stands_beside_the_same_one_of_shuffled_students():
    row = {"metric": "m", "a": "facts", "b": "solo", "difference": 0.1, "low": 0.0, "high": 0.2}
    other = row | {"a": "key"}
    there = {"contrasts": [other, row | {"difference": 0.3}]}
    assert same_by_lot(row, there)["value"] == 0.3
    assert same_by_lot(row, {"contrasts": [other]}) is None and same_by_lot(row, None) is None


def test_the_shipped_config_has_all_shapes_their_controls_and_named_contrasts():
    made = load(CONFIGS / "shapes.yaml")
    arms = "solo symmetric blind sham verifier answer key facts volunteer jigsaw misled".split()
    for arm in arms:
        kinds = {"matched", "as_played", "yoked"} - ({"matched"} if arm == "misled" else set())
        assert {control_of(made, f"{arm}_{kind}") for kind in kinds} == kinds
    assert made.compare is not None
    first = [made.compare.primary, *next(iter(made.compare.families.values()))]
    assert [(each.metric, each.a, each.b) for each in first] == [
        ("open_question", "facts", "verifier"),
        ("closed_question", "answer", "facts"),
        ("repeated_attempt@verifier", "verifier", "solo"),
    ]
    shuffled = load(CONFIGS / "shapes_shuffled.yaml")
    assert list(shuffled.conditions) == arms and set(shuffled.with_regime("shuffled")) == set(arms)
    for part in ("seeds", "tasks", "dialogue", "exams", "student"):
        assert getattr(shuffled, part) == getattr(made, part), part


def test_a_contrast_that_chance_gives_as_well_supports_no_claim():
    apart = {
        "metric": "open_question",
        "difference": 0.1,
        "low": 0.02,
        "high": 0.15,
        "detectable": 0.08,
        "family": None,
    }
    at_zero, other_side = apart | {"low": -0.1}, apart | {"low": -0.2, "high": -0.1}
    assert judged(apart, None)["verdict"] == judged(apart, at_zero)["verdict"] == "supported"
    assert judged(apart, other_side)["verdict"] == "supported"
    assert judged(apart, apart)["verdict"].startswith("undecided (by lot")
    in_family = apart | {"family": "shapes", "p_holm": 0.19}
    assert judged(in_family, None)["verdict"] == "undecided (Holm's p is 0.19)"
    assert judged(in_family | {"p_holm": 0.01}, None)["verdict"] == "supported"
    assert judged(at_zero, apart)["verdict"] == "undecided (a difference of 0.08 is found by three in four such runs)"


def test_what_is_gone_among_yoked_students_is_no_evidence_for_teaching():
    row = {
        "metric": "open_question",
        "a": "facts",
        "b": "verifier",
        "difference": 0.1,
        "low": 0.02,
        "high": 0.15,
        "detectable": 0.08,
        "family": None,
    }
    gone = row | {"a": "facts_yoked", "b": "verifier_yoked", "low": -0.1}
    controls = {"facts": {"yoked": "facts_yoked"}, "verifier": {"yoked": "verifier_yoked"}}
    report = {"comparisons": [row, gone | {"metric": "closed_question"}, gone], "shapes": {"controls": controls}}
    assert yoked_twin(row, report) is gone and yoked_twin(gone, report) is None
    untried = yoked_twin(row | {"metric": "found@facts"}, report)
    assert judged(row, None, untried)["verdict"] == "supported, not tried with selection taken out"
    other_way, empty = {"difference": -0.1, "low": -0.2, "high": -0.1}, {"difference": None, "low": None, "high": None}
    assert judged(row, None, gone)["verdict"] == "supported, not shown with selection taken out"
    assert judged(row, None, gone | {"low": 0.01})["verdict"] == "supported"
    assert judged(row, None, gone | other_way)["verdict"] == "supported, the other way with selection taken out"
    assert judged(row, None, gone | empty)["verdict"] == "supported, not tried with selection taken out"
    assert judged(row, row, gone)["verdict"].startswith("undecided (by lot")

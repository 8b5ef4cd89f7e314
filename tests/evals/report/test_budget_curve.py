"""The budget curve: tokens are those of the budget's tasks, and nobody is ranked whom chance may have put there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evals.exams.registry import catalog_of
from evals.report.budgets.budget_curve import curve, in_words, table
from evals.report.budgets.budget_points import Point, points, ranked, tables_of
from pipeline.experiment.settings import TurnValues
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.runs.directory import experiment_of
from pipeline.runs.store import read
from tests.evals.made_run import CONDITIONS as OTHERS
from tests.evals.made_run import made_run

HALF = Condition(partition="facts", learns_from="facts", budget=0.5)
CONDITIONS = OTHERS | {
    "half": HALF,
    "like": Condition(partition="facts", learns_from="facts", keep="grounded"),
    "dpo": Condition(partition="facts", method="dpo", learns_from="facts"),
    "monologue": Condition(partition="facts", method="monologue", learns_from="facts"),
    "of_primed": Condition(partition="facts", method="monologue", learns_from="primed"),
    "primed": Condition(partition="facts", method="q_priming"),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    rates = {"facts": 0.9, "like": 0.9, "half": 0.5, "dpo": 0.05, "monologue": 0.9, "primed": 0.9}
    path = tmp_path_factory.mktemp("runs") / "made"
    return made_run(path, conditions=CONDITIONS, rates=rates, turn_values=TurnValues(siblings=2), exam=25)


@pytest.fixture(scope="module")
def made(run) -> dict[str, Point]:
    experiment = experiment_of(run)
    total = catalog_of([experiment]).signed_sum("ask_needed")
    return {point.condition_name: point for point in points(experiment, tables_of(experiment), total)}


def test_tokens_are_those_of_the_dialogues_and_branches_on_tasks_of_the_budget(run, made):
    whole = [*read(run / "dialogues/facts.jsonl", Dialogue), *read(run / "branches/facts.jsonl", Branch)]
    tokens = [(record.task.id, record.tokens("student")) for record in whole]
    assert made["facts"].sampled == made["dpo"].sampled == sum(count for _, count in tokens) / 2  # two seeds
    assert made["half"].sampled == sum(count for id, count in tokens if HALF.affords(id)) / 2
    assert 0 < made["half"].sampled < made["facts"].sampled
    assert all(point.trained == 100 for point in made.values())


def test_a_student_of_several_rounds_learned_in_all_of_them(run, made, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    for adapter in (copy / "adapters" / "facts").glob("seed-?"):
        shutil.copytree(adapter, adapter.with_name(f"{adapter.name}-round-0"))
    experiment = experiment_of(copy)
    total = catalog_of([experiment]).signed_sum("ask_needed")
    found = {point.condition_name: point for point in points(experiment, tables_of(experiment), total)}
    assert found["facts"] == made["facts"]._replace(trained=200, steps=2 * made["facts"].steps)


def test_conditions_that_differ_in_budget_alone_share_a_line(made):
    assert {name for name, point in made.items() if point.line == "facts"} == {"facts", "half"}
    assert all(point.line == name for name, point in made.items() if name != "half")
    panels = curve(list(made.values()), "ask_needed").axes
    assert [len(panel.containers) for panel in panels] == [len(CONDITIONS) - 1] * 2


def test_a_way_of_learning_differs_from_its_pool_by_method_and_budget_alone(made):
    assert {name for name, point in made.items() if point.pool == "facts" and not point.plain} == {"like"}


def test_only_those_who_are_told_apart_at_one_budget_are_ranked(run, made):
    experiment = experiment_of(run)
    total = catalog_of([experiment]).signed_sum("ask_needed")
    found = ranked(list(points(experiment, tables_of(experiment), total)), tables_of(experiment), total)
    pairs = {key: {(pair.difference.a, pair.difference.b) for pair in above} for key, above in found.items()}
    assert pairs.keys() == {("facts", 0.5), ("facts", 1.0), ("volunteer", 1.0), ("blind", 1.0)}
    above, below = map(set, zip(*pairs["facts", 1.0], strict=True))
    assert pairs["facts", 0.5] == set() and below == {"dpo"} and "like" not in above  # like keeps others
    assert all(pair.difference.low > 0 for above in found.values() for pair in above)
    half, whole = (line for line in in_words(found) if line.startswith("facts"))
    assert "no two students are told apart" in half and " above dpo by 0.8" in whole


def test_the_table_has_a_line_for_each_student(made):
    assert table(list(made.values()), "ask_needed").row_count == len(CONDITIONS)

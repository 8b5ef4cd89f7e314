"""Predictions beside what was observed, told on hand-made rates; and a run with turn values and two methods."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from test_report import Nesting, text

from evals.report.methods import agreement, beside, holds_zero
from evals.report.report_page import change, write
from evals.report.summary import summarize, turn_values_of
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import TurnValues
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import read
from tests.evals.made_run import METHODS, made_run


def rate(value: float, reach: float = 0.1, n: int = 50) -> dict[str, Any]:
    return {"value": value, "low": value - reach, "high": value + reach, "n": n, "apart": abs(value - 0.2) > reach}


def entry(
    observed: dict[str, Any] | None, method: str = "sft", values_of: str | None = "facts", **axes: Any
) -> dict[str, Any]:
    metrics = {"ask_needed": observed} if observed else {}
    condition = {"method": method, "selection": "outcome", "token_price": None, "question_price": None} | axes
    return {"metrics": metrics, "condition": condition, "turn_values": None, "turn_values_of": values_of}


def cells(advantage: dict[str, Any], **conditions: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The cells of ask_needed, by condition; the base asks in .2."""
    facts = entry(rate(0.2))
    facts["turn_values"] = {"predicted": {"ask_needed": rate(0.8)}, "advantages": {"ask_needed": advantage}}
    every = {"base": {"metrics": {"ask_needed": rate(0.2)}}, "facts": facts, **conditions}
    made = beside(every, {name: "base" for name in every if name != "base"})
    return {cell["condition"]: cell for cell in made if cell["metric"] == "ask_needed"}


def test_a_cell_agrees_where_the_observed_change_has_the_sign_of_the_advantage():
    found = cells(
        rate(0.3),
        up=entry(rate(0.5)),
        down=entry(rate(0.05)),
        same=entry(rate(0.25)),
        absent=entry(None),
        apart=entry(rate(0.5), "grpo", None),
    )
    got = {name: (cell["agrees"], change(cell)) for name, cell in found.items()}
    assert got == {
        "facts": (None, "none shown"),
        "up": (True, "rose, as the advantage says"),
        "down": (False, "fell, not as the advantage says"),
        "same": (None, "none shown"),
        "absent": (None, "–"),
        "apart": (None, "rose"),
    }
    assert found["apart"]["predicted"] is found["apart"]["advantage"] is found["absent"]["observed"] is None


def test_the_sentence_counts_what_the_interval_decides_and_says_what_it_left_out():
    made = cells(rate(0.05), up=entry(rate(0.5), "dpo"), down=entry(rate(0.05)), absent=entry(None))
    said = agreement(list(made.values()))
    assert "the same sign in 1 of 2 cells (dpo 1 of 1, sft 0 of 1). In 0 of these 2" in said
    assert "2 of all 4 cells do not count: in 1 no difference from the base is shown, in 1 the turn" in said
    assert change(made["up"]) == "rose, as the advantage says (unclear)"


def test_who_learned_by_other_rewards_is_not_judged_by_these():
    others = {
        "priced": entry(rate(0.05), "grpo_turn", question_price=0.3),
        "by_lot": entry(rate(0.5), "grpo", selection="yoked"),
        "answers": entry(rate(0.5), "dpo_answer"),
    }
    made = cells(rate(0.3), up=entry(rate(0.5)), **others)
    assert {made[name]["agrees"] for name in others} == {None} and made["up"]["agrees"]
    assert "in 3 it learned by other rewards" in agreement(list(made.values()))


def test_an_advantage_of_nothing_has_no_sign():
    made = cells(rate(1e-17), up=entry(rate(0.5)))
    assert made["up"]["agrees"] is None and "in 1 the advantage is 0" in agreement([made["up"]])


def test_where_nothing_moved_the_sentence_says_that_no_cell_can_tell():
    assert agreement(list(cells(rate(0.3)).values())).startswith("No cell can say")
    assert agreement([]) == ""


def test_a_rate_over_nothing_is_absent_and_not_a_number():
    found = cells(
        rate(0.3),
        nothing=entry({"value": float("nan"), "low": float("nan"), "high": float("nan"), "n": 0, "apart": False}),
    )
    assert found["nothing"]["observed"] is None and found["nothing"]["agrees"] is None


@pytest.mark.parametrize(
    ("low", "high", "holds"),
    [(0.1, 0.2, False), (-0.2, -0.1, False), (-0.1, 0.1, True), (0, 0.1, True)],
)
def test_an_interval_holds_zero_unless_both_ends_lie_on_one_side(low, high, holds):
    assert holds_zero({"low": low, "high": high}) is holds


def test_without_turn_values_nothing_is_set_beside(tmp_path):
    summary = summarize([made_run(tmp_path / "made")])
    assert summary.beside == () and summary.agreement == "" and not summary.methods_differ
    page = write(tmp_path, summary)[2].read_text()
    assert "The value of a turn" not in page and "<h2>Methods" not in page and "methods" not in text(summary).lower()


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "made"
    rates = {"facts": 0.9, "volunteer": 0.3, "facts_dpo": 0.05}
    return made_run(path, conditions=METHODS, rates=rates, turn_values=TurnValues(siblings=4), exam=80)


@pytest.fixture(scope="module")
def summary(run):
    return summarize([run])


def test_a_run_with_turn_values_and_two_methods_reconciles(summary):
    assert summary.problems == ()


def test_a_condition_that_learns_from_another_refers_to_its_values(summary):
    found = {name: (entry.turn_values is not None, entry.turn_values_of) for name, entry in summary.conditions.items()}
    assert found["facts"] == (True, "facts") and found["volunteer"] == (True, "volunteer")
    assert found["facts_dpo"] == (False, "facts") and found["base"] == (False, None)
    both = [c for c in summary.beside if c.condition in ("facts", "facts_dpo") and c.metric == "ask_needed"]
    assert both[0].predicted == both[1].predicted and both[0].method != both[1].method


def test_who_plays_while_it_learns_is_held_against_turn_values_of_its_partner():
    conditions = {
        "online": {"partition": "facts", "method": "grpo"},
        "primed": {"partition": "facts", "method": "q_priming"},
        "blind_online": {"partition": "symmetric", "method": "grpo"},
        "facts": {"partition": "facts", "selection": "none"},
        "vague": {"partition": "facts", "manner": "vague"},
    }
    made = Experiment(name="x", conditions=conditions, turn_values=TurnValues(siblings=2))
    assert {name: turn_values_of(made, name) for name in conditions} == {
        "online": "facts", "primed": "facts", "blind_online": None, "facts": "facts", "vague": "vague",
    }  # fmt: skip


def test_asking_less_after_learning_that_it_pays_is_said_to_disagree(summary):
    found = {c.condition: c.agrees for c in summary.beside if c.metric == "ask_needed"}
    assert found["facts"] is True and found["facts_dpo"] is False


def test_costs_are_those_of_one_student(summary):
    facts, dpo = (summary.plain()["conditions"][name]["cost"] for name in ("facts", "facts_dpo"))
    budgets = summary.plain()["conditions"]["facts"]["budgets"]
    assert facts["pool"] == dpo["pool"] == 15 / 2 * (1 + 4 * 2)  # of two seeds; a dialogue has 4 siblings, 2 rollouts
    assert facts["sampled_tokens"] == budgets["sampled_tokens"] / 2 == dpo["sampled_tokens"]
    assert (facts["seconds"], facts["optimizer_steps"], facts["trained_tokens"]) == (2, 3, 100)
    skill = [summary.plain()["conditions"][name]["metrics"]["ask_skill"]["value"] for name in ("facts", "base")]
    assert facts["gained"]["value"] == pytest.approx((skill[0] - skill[1]) / facts["sampled_tokens"] * 1e6, rel=1e-4)


def test_a_budget_counts_what_lies_within_it_alone(tmp_path):
    half = Condition(partition="facts", method="dpo", learns_from="facts", budget=0.5)
    run = made_run(tmp_path / "made", conditions=METHODS | {"half": half}, turn_values=TurnValues(siblings=2), exam=20)
    conditions = summarize([run]).plain()["conditions"]
    whole = [d for d in read(run / "dialogues/facts.jsonl", Dialogue) if half.affords(d.task.id)]
    branches = [b for b in read(branches_path(run, "facts"), Branch) if half.affords(b.task.id)]
    counted = conditions["half"]
    assert 0 < counted["counts"]["dialogues"] == len(whole) < conditions["facts"]["counts"]["dialogues"]
    sampled = sum(record.tokens("student") for record in (*whole, *branches))
    assert counted["budgets"]["sampled_tokens"] == sampled == 2 * counted["cost"]["sampled_tokens"]


def test_the_reports_show_values_predictions_and_methods(run, summary):
    _, markdown, page = (path.read_text(encoding="utf-8") for path in write(run, summary))
    for heading in ("The value of a turn", "Predicted beside observed, per method", "Methods"):
        assert f"## {heading}\n" in markdown and f"<h2>{heading}</h2>" in page
    assert "What to ask first" in page and "asks for a missing fact" in page
    assert summary.agreement in markdown and page.count("<svg") == 3
    parser = Nesting()
    parser.feed(page)
    assert parser.open == []
    blocks = re.findall(r"(?:^\|.*\n)+", markdown, re.M)
    assert len(blocks) == 8 and all(len({line.count("|") for line in b.splitlines()}) == 1 for b in blocks)
    assert "None" not in markdown


def test_only_what_selection_keeps_is_predicted_by_its_arithmetic(summary):
    lines = {line.split()[1]: line.split() for line in text(summary).splitlines() if line.startswith("│ facts")}
    assert "sft" in lines["facts"] and lines["facts"][-2] != "–"
    assert "dpo" in lines["facts_dpo"] and lines["facts_dpo"][-2] == "–"


def test_a_condition_without_dialogues_values_or_results_is_a_row_of_dashes(tmp_path):
    run = made_run(tmp_path / "made", conditions=METHODS, turn_values=TurnValues(siblings=2))
    for file in [*run.glob("*/volunteer.jsonl"), *(run / "results" / "volunteer").iterdir()]:
        file.unlink()
    for folder in ("adapters", "datasets"):
        for file in (run / folder / "volunteer").rglob("*.*"):
            file.unlink()
    summary = summarize([run])
    cost = summary.plain()["conditions"]["volunteer"]["cost"]
    assert set(cost.values()) == {None}
    assert summary.written() and len(write(run, summary)) == 3
    row = next(line for line in (run / "report.md").read_text().splitlines() if line.startswith("| volunteer | sft |"))
    assert set(row.split(" | ")[2:]) <= {"–", "– |"}

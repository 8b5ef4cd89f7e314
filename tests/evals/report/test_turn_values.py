"""Branches small enough to add up by eye: what a turn is worth, and what follows for learning."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from evals.report.turn_values_table import values
from pipeline.core.schema import Task, Turn
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import TurnValues
from pipeline.knowledge.records import Branch, Rollout, Sibling
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import rewrite
from pipeline.tasks.word_problems import embedded_tasks
from tests.evals.made_run import CONDITIONS, made_tasks

FULL, LACKING = made_tasks(1)


def sibling(task: Task, text: str, *right: bool) -> Sibling:
    """A turn of ten tokens, played on once for each of `right`: a reply, and an answer of five tokens."""

    def rollout(is_right: bool) -> Rollout:
        answer = f"The answer is {task.answer if is_right else task.wrong_answer}."
        turns = (Turn(party="partner", text="I see.", tokens=2), Turn(party="student", text=answer, tokens=5))
        return Rollout(turns=turns, stop="student_done")

    turn = Turn(party="student", text=text, tokens=10)
    return Sibling(turn=turn, rollouts=tuple(map(rollout, right)))


def branch(task: Task, *siblings: Sibling, prefix: tuple[Turn, ...] = (), name: str = "b") -> Branch:
    condition = CONDITIONS["facts"]
    return Branch(
        id=f"{name}-{task.id}",
        dialogue=f"d-{task.id}",
        task=task,
        condition_name="facts",
        condition=condition,
        seed=1,
        round=0,
        prefix=prefix,
        siblings=siblings,
    )


def of(path: Path, *branches: Branch, **prices: float) -> dict[str, Any]:
    turn_values = TurnValues(siblings=2, **prices)  # type: ignore[arg-type]
    experiment = Experiment(name="x", out=str(path), conditions=CONDITIONS, turn_values=turn_values)
    rewrite(branches_path(path, "facts"), branches)
    found = values(experiment, "facts")
    assert found is not None
    return found


def row(found: dict[str, Any], move: str, at: int = 0) -> dict[str, Any]:
    return next(row for row in (*found["values"], *found["facts"]) if (row["move"], row["at"]) == (move, at))


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Any]:
    """Worth 1, 1/2, 0, 0, their mean 3/8, on the task that lacks a fact; 1, 1/2, their mean 3/4, on the whole one."""
    ask = LACKING.missing[0].ask
    lacking = branch(
        LACKING,
        sibling(LACKING, ask, True, True),
        sibling(LACKING, ask, True, False),
        sibling(LACKING, "The answer is 1.", False, False),
        sibling(LACKING, "I guess the answer is 1.", False, False),
    )
    whole = branch(
        FULL,
        sibling(FULL, f"The answer is {FULL.answer}.", True, True),
        sibling(FULL, FULL.facts[0].ask, True, False),
    )
    return of(tmp_path, lacking, whole)


def test_a_moves_value_is_its_siblings_mean_and_its_advantage_is_in_its_branch(found):
    got = {
        (row["specification"], row["move"]): (row["value"]["value"], row["advantage"]["value"])
        for row in found["values"]
    }
    assert got == {
        ("underspecified", "ask"): (0.75, 0.375),
        ("underspecified", "attempt"): (0, -0.375),
        ("underspecified", "guess"): (0, -0.375),
        ("full", "attempt"): (1, 0.25),
        ("full", "ask_known"): (0.5, -0.25),
    }


def test_shares_counts_tokens_and_questions_are_those_of_the_siblings(found):
    ask = row(found, "ask")
    assert (ask["share"], ask["value"]["n"], ask["success"], ask["tokens"], ask["questions"]) == (0.5, 2, 0.75, 15, 1)
    # 4 and 2 siblings of ten tokens, 8 and 4 rollouts with five of the student; the partner is a rule.
    assert (found["branches"], found["rollouts"], found["sampled_tokens"]) == (2, 12, 6 * 10 + 12 * 5)


def test_learning_from_successes_leads_to_the_share_of_successes_by_move(found):
    # Three dialogues end right on the task that lacks a fact, all after asking; three on the whole one, one after it.
    got = {metric: (rate["value"], rate["n"]) for metric, rate in found["predicted"].items()}
    assert got == {"ask_needed": (1, 3), "attempt_unknowing": (0, 3), "ask_needless": (pytest.approx(1 / 3), 3)}


def test_an_examined_metrics_advantage_is_that_of_all_moves_that_it_counts(found):
    got = {metric: (rate["value"], rate["n"]) for metric, rate in found["advantages"].items()}
    assert got == {"ask_needed": (0.375, 2), "attempt_unknowing": (-0.375, 2), "ask_needless": (-0.25, 1)}


def test_an_interval_of_advantages_may_cross_zero_though_no_case_does(tmp_path):
    """Asking is better on one task and as good as its siblings on two: that is no proof that it never harms."""
    tasks = [task for task in made_tasks(3) if task.missing]
    branches = [
        branch(task, sibling(task, task.missing[0].ask, True), sibling(task, "The answer is 1.", i > 0))
        for i, task in enumerate(tasks)
    ]
    advantage = row(of(tmp_path, *branches), "ask")["advantage"]
    assert advantage["low"] < 0 < advantage["value"] < advantage["high"]


def test_of_several_missing_facts_a_turn_counts_for_the_first_in_the_problem(tmp_path):
    task = next(t for t in embedded_tasks("train", "underspecified") if len(t.missing) > 1)
    public, (first, second) = next(fact for fact in task.facts if fact.public), task.missing[:2]
    found = of(
        tmp_path,
        branch(
            task,
            sibling(task, f"{public.ask} {second.ask} {first.ask}", True),
            sibling(task, second.ask, False),
            sibling(task, "Hm.", False),
        ),
    )
    got = {row["move"]: (row["value"]["value"], row["value"]["n"]) for row in found["facts"]}
    assert got == {f"ask {first.id}": (1, 1), f"ask {second.id}": (0, 1)}
    assert row(found, "ask")["share"] == pytest.approx(2 / 3)
    assert row(found, f"ask {first.id}")["share"] == pytest.approx(1 / 3)


def test_prices_are_taken_off_a_turns_worth_and_of_nothing_else(tmp_path):
    pair = sibling(LACKING, LACKING.missing[0].ask, True), sibling(LACKING, "The answer is 1.", False)
    found = of(tmp_path, branch(LACKING, *pair), token_price=0.01, question_price=0.1)
    ask, attempt = row(found, "ask"), row(found, "attempt")
    assert ask["value"]["value"] == pytest.approx(1 - 0.15 - 0.1)
    assert attempt["value"]["value"] == pytest.approx(-0.15)
    assert ask["advantage"]["value"] == pytest.approx(0.45)
    assert ask["success"] == 1 and found["predicted"]["ask_needed"]["value"] == 1


def test_intervals_end_where_worths_and_advantages_must(tmp_path):
    """With prices of at most 1/4 a worth lies between -1/4 and 1, and two are at most 5/4 apart."""
    pair = sibling(LACKING, LACKING.missing[0].ask, True), sibling(LACKING, "The answer is 1.", False)
    ask = row(of(tmp_path, branch(LACKING, *pair), token_price=0.01, question_price=0.1), "ask")
    assert [ask["value"][end] for end in ("low", "high")] == pytest.approx([-0.25, 1])
    assert [ask["advantage"][end] for end in ("low", "high")] == pytest.approx([-1.25, 1.25])


def test_later_turns_have_rows_of_their_own_and_predict_nothing_of_the_first(tmp_path):
    prefix = (Turn(party="student", text="Hm."), Turn(party="partner", text="Go on."))
    pair = sibling(LACKING, LACKING.missing[0].ask, True), sibling(LACKING, "The answer is 1.", False)
    found = of(tmp_path, branch(LACKING, *pair, prefix=prefix))
    assert [row["at"] for row in itertools.chain(found["values"], found["facts"])] == [1, 1, 1]
    assert found["predicted"] == found["advantages"] == {}


def test_without_a_branch_there_are_no_values(tmp_path):
    experiment = Experiment(name="x", out=str(tmp_path), conditions=CONDITIONS)
    assert values(experiment, "facts") is None
    rewrite(branches_path(tmp_path, "facts"), [])
    assert values(experiment, "facts") is None

"""Turn values: branches whole and resumable, siblings shared between conditions, values counted as it says."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import pytest

from pipeline.building.build import build
from pipeline.building.rounds import branch_round
from pipeline.building.turn_values import (
    answer_value,
    has_turn_values,
    missing_branches,
    planned_branches,
    play_branches,
    turn_value,
)
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message, Task, Turn, digest
from pipeline.datasets.rejection_sampling import kept, selected
from pipeline.datasets.survey import surveyed
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, EngineError, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Failure, Rollout, Sibling
from pipeline.runs.dialogue_pool import Pool, branches_path
from pipeline.runs.store import read
from pipeline.runs.whole_run import followed, read_progress
from tests.builders import small_experiment
from tests.fakes import FakeModel


class Chance(FakeModel):
    """Asks, guesses, answers or is done, by the seed of the request alone."""

    def __init__(self, broken: float = 0.0):
        self.broken, self.asked = broken, Counter[str]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        await asyncio.sleep(0)
        self.asked[digest(messages)] += 1
        drawn = int(digest(messages, sampling.seed), 16)
        if drawn % 100 < 100 * self.broken:
            raise EngineError("broken")
        facts = ["How many hats does Tom have?", "I guess the answer is 7.", "The answer is 12.", "I am done."]
        return Completion(facts[drawn // 100 % 4], tokens=5, prompt_tokens=10)


CLOSED = {"partner": "closed", "metrics": "closed"}
VALUES = {"siblings": 3, "rollouts": 2}
experiment = partial(
    small_experiment,
    seeds=[1],
    conditions={"facts": {"partition": "facts"}, "blind": {"partition": "symmetric"}},
    dialogue={"turns": 3, "concurrency": 16},
    turn_values=VALUES,
)


def made(setting: Experiment, tasks: list[Task], condition_name: str = "facts", model: Any = None) -> list[Branch]:
    cast = Cast(model or Chance())
    asyncio.run(build(Cell(setting, condition_name, 1), tasks, [], Cast(Chance()), lambda: None))
    asyncio.run(play_branches(Cell(setting, condition_name, 1), cast, lambda: None))
    return list(read(branches_path(setting.run, condition_name), Branch))


def test_every_student_turn_that_is_asked_for_becomes_one_branch_with_its_prefix(underspecified, tmp_path):
    setting = experiment(tmp_path, turn_values=VALUES | {"at": [0, 1]})
    branches = made(setting, underspecified[:6])
    talks = {d.id: d for d in read(tmp_path / "dialogues/facts.jsonl", Dialogue)}
    assert {(b.dialogue, b.at) for b in branches} == {
        (d.id, at) for d in talks.values() for at in (0, 1) if at < (len(d.turns) + 1) // 2
    }
    for branch in branches:
        assert branch.prefix == talks[branch.dialogue].turns[: 2 * branch.at]
        assert len(branch.siblings) == 3
        for i, sibling in enumerate(branch.siblings):
            assert len(sibling.rollouts) == 2
            for dialogue in branch.dialogues(i):
                assert dialogue.turns[: 2 * branch.at + 1] == (*branch.prefix, sibling.turn)
                assert sum(turn.party == "student" for turn in dialogue.turns) <= 3
                assert [t.party for t in dialogue.turns] == ["student", "partner"] * (len(dialogue.turns) // 2) + [
                    "student"
                ] * (len(dialogue.turns) % 2)


def test_siblings_of_a_first_turn_are_the_same_under_every_condition(underspecified, tmp_path):
    setting = experiment(tmp_path)
    facts, blind = (made(setting, underspecified[:4], name) for name in ("facts", "blind"))
    said = [{b.task.id: [s.turn.text for s in b.siblings] for b in branches} for branches in (facts, blind)]
    assert said[0] == said[1] and len(said[0]) == 4


def test_a_build_of_branches_told_to_go_on_makes_what_is_missing_and_nothing_twice(underspecified, tmp_path):
    whole = made(experiment(tmp_path / "whole"), underspecified[:8])
    setting = experiment(tmp_path / "parts")
    made(setting, underspecified[:3])
    path = branches_path(setting.run, "facts")
    path.write_bytes(path.read_bytes()[:-20])  # as a kill leaves it
    parts = made(setting, underspecified[:8])
    assert {b.id: b for b in parts} == {b.id: b for b in whole}
    assert len(parts) == len({b.id for b in parts}) == sum(1 for _ in planned_branches(Cell(setting, "facts", 1))) == 8


def test_branches_that_are_all_there_open_no_model(underspecified, tmp_path):
    assert len(made(experiment(tmp_path), underspecified[:2])) == 2
    gone = experiment(
        tmp_path, engine={"kind": "transformers"}, student={"model": str(tmp_path / "gone")}, reading=CLOSED
    )
    asyncio.run(branch_round(gone, ["facts"], 0))
    with pytest.raises(ConfigError, match="gone"):
        Casting(gone).cast(Cell(gone, "facts", 1))


def test_a_resumed_stage_of_branches_counts_what_was_missing_alone(underspecified, tmp_path):
    setting = experiment(tmp_path)
    made(setting, underspecified[:8], model=Chance(broken=0.05))
    failures = list(read(tmp_path / "branches/failures.jsonl", Failure))
    assert 0 < len(failures) == missing_branches(Cell(setting, "facts", 1)) < 8
    with followed(tmp_path, []):
        asyncio.run(branch_round(setting, ["facts"], 0))
    progress = read_progress(tmp_path)
    assert progress and progress.done == progress.total == len(failures)


def test_a_branch_that_fails_is_a_typed_failure_and_tried_again_after_the_engine(underspecified, tmp_path):
    setting = experiment(tmp_path)
    some = made(setting, underspecified[:8], model=Chance(broken=0.05))
    failures = list(read(tmp_path / "branches/failures.jsonl", Failure))
    assert failures and len(some) + len(failures) == 8
    assert {f.kind for f in failures} == {"engine_error"}
    assert not (tmp_path / "failures.jsonl").read_text()
    assert len(made(setting, underspecified[:8])) == 8
    assert not list(read(tmp_path / "branches/failures.jsonl", Failure))


def hand_made(task: Task) -> Branch:
    """Two siblings: a question whose first rollout ends right, and a wrong answer that is the end."""
    right = Rollout(turns=(turn("partner", "Okay."), turn("student", f"The answer is {task.answer}.")), stop="turn_cap")
    wrong = Rollout(
        turns=(turn("partner", "Okay."), turn("student", f"How many? {task.facts[0].ask}")), stop="turn_cap"
    )
    end = Rollout(turns=(), stop="student_done")
    return Branch(
        id="b", dialogue="d", task=task, condition_name="facts", condition=Condition(partition="facts"),
        seed=1, round=0, prefix=(),
        siblings=(
            Sibling(turn=turn("student", task.missing[0].ask), rollouts=(right, wrong)),
            Sibling(turn=turn("student", "The answer is 0."), rollouts=(end, end)),
        ),
    )  # fmt: skip


def turn(party: Any, text: str) -> Turn:
    return Turn(party=party, text=text, tokens=10)


def test_a_turn_is_worth_the_share_of_its_rollouts_that_end_right_less_its_prices(underspecified, tmp_path):
    branch = hand_made(underspecified[0])
    free, dear = (
        experiment(tmp_path).turn_values,
        experiment(tmp_path, turn_values=VALUES | {"token_price": 0.01, "question_price": 0.1}).turn_values,
    )
    # It asks for a fact in the sibling, and for one in the second rollout: 1.5 a rollout; 20 student tokens in each.
    assert turn_value(branch, 0, free) == (0.5, 0.5, 20, 1.5)
    assert turn_value(branch, 0, dear).value == pytest.approx(0.5 - 0.2 - 0.15)
    assert turn_value(branch, 1, dear) == (pytest.approx(-0.1), 0, 10, 0)
    # Of a rollout's tokens at most 1 is taken off.
    dearest = experiment(tmp_path, turn_values=VALUES | {"token_price": 0.5}).turn_values
    assert turn_value(branch, 0, dearest).value == 0.5 - 1
    assert branch.tokens("student") == 10 + 10 + 10 + 10 and branch.tokens("partner") == 20


def test_credit_by_answer_sees_no_worth_in_a_question(underspecified):
    branch = hand_made(underspecified[0])
    right = branch.model_copy(
        update={"siblings": (Sibling(turn=turn("student", f"The answer is {branch.task.answer}."), rollouts=()),)}
    )
    assert (answer_value(branch, 0), answer_value(branch, 1), answer_value(right, 0)) == (0, 0, 1)


def test_the_pool_has_dialogues_and_those_through_siblings_and_finds_them_again(underspecified, tmp_path):
    setting = experiment(tmp_path)
    branches = made(setting, underspecified[:8])
    pool = list(Pool(setting, "facts"))
    assert len(pool) == len({d.id for d in pool}) == 8 + 8 * 3 * 2
    assert {d.id for d in pool if "-" in d.id} == {d.id for b in branches for i in range(3) for d in b.dialogues(i)}
    condition = setting.conditions["facts"].model_copy(update={"selection": "none"})
    loose = setting.model_copy(update={"conditions": {"facts": condition}})
    with surveyed(loose, "facts") as survey:
        chosen = [survey.read(record.place) for record in selected(survey.dialogues, condition)]
    texts = {(d.task.id, tuple(t.text for t in d.turns)) for d in pool if kept(d, condition)}
    assert len(chosen) == len(texts)
    assert all(any(d == other for other in pool) for d in chosen)


@pytest.mark.parametrize(
    ("condition", "has"),
    [
        ({"partition": "facts"}, True),
        ({"partition": "script", "voice": "model"}, False),
        ({"partition": "facts", "method": "q_priming"}, False),
    ],
)
def test_what_cannot_be_played_on_from_its_middle_has_no_turn_values(tmp_path, condition, has):
    setting = Experiment.model_validate({"name": "x", "conditions": {"c": condition}, "turn_values": {"siblings": 2}})
    assert has_turn_values(setting, "c") == has
    assert not has_turn_values(
        setting.model_copy(update={"turn_values": experiment(tmp_path, turn_values={"siblings": 0}).turn_values}), "c"
    )


def test_without_an_oracle_a_turn_is_worth_what_ends_in_agreement(underspecified):
    branch = hand_made(underspecified[0])
    both_wrong = Rollout(turns=(turn("partner", "The answer is 0."),), stop="turn_cap")
    apart = Rollout(
        turns=(turn("partner", "The answer is 0."), turn("student", f"The answer is {branch.task.answer}.")),
        stop="turn_cap",
    )
    asks, guesses = branch.siblings
    branch = branch.model_copy(
        update={
            "siblings": (
                asks.model_copy(update={"rollouts": (apart, apart)}),
                guesses.model_copy(update={"rollouts": (both_wrong, both_wrong)}),
            )
        }
    )
    prices = experiment().turn_values
    assert [turn_value(branch, i, prices).success for i in (0, 1)] == [1, 0]
    assert [turn_value(branch, i, prices, "agreement").success for i in (0, 1)] == [0, 1]


@pytest.mark.parametrize("method", ["dpo", "dpo_answer", "kto", "grpo", "grpo_turn", "grpo_next"])
def test_no_method_that_goes_by_the_gold_answer_is_without_selection(method):
    with pytest.raises(ValueError, match=rf"selection: 'none' .* method: '{method}' rewards"):
        Condition.model_validate({"partition": "facts", "selection": "none", "method": method})


@pytest.mark.parametrize("method", ["dpo_answer", "grpo", "grpo_next"])
def test_agreement_is_refused_where_the_gold_answer_values_a_turn(method):
    condition = {"partition": "symmetric", "voice": "model", "selection": "agreement", "method": method}
    with pytest.raises(ValueError, match="the gold answer, a judge or an expert"):
        experiment(conditions={"c": condition})

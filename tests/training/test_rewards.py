"""What a turn or a dialogue that was played is worth to the student that learns from it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from test_online import BASE, Says, experiment, job

from pipeline.core.schema import Task, Turn
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.export import export
from pipeline.engines.model import ContextOverflow, EngineError
from pipeline.engines.transformers import load_tokenizer
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE, Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.loading import load_tasks
from training.online.partners import open_partners
from training.online.rewards import Sample, by_lot, comparable, discounted, likeness, sample, without_spread


@pytest.mark.parametrize(
    ("lines", "reward"),
    [
        (["The answer is {0}."], 1.0),
        (["How many?", "Hm.", "The answer is {0}."], 0.5),
        (["I guess the answer is 0.", "Hm.", "Okay.", "Hm.", "The answer is {0}."], 0.25),
        (["The answer is {0}.", "Hm.", "I am done."], 1.0),
        (["The answer is {0}.", "Hm.", "The answer is {0}."], 1.0),  # said again
        (["The answer is {0}.", "Hm.", "The answer is 0.", "Hm.", "The answer is {0}."], 0.25),  # came back to it
        (["The answer is {0}.", "Hm.", "The answer is 0."], 0.0),
        (["How many?", "The answer is {0}.", "Okay."], 0.0),  # it was the partner that said so
    ],
)
def test_a_right_final_answer_is_worth_less_for_every_turn_before_it(task, lines, reward):
    said = tuple(
        Turn(party="partner" if i % 2 else "student", text=line.format(task.answer)) for i, line in enumerate(lines)
    )
    condition = Condition(partition="facts")
    dialogue = Dialogue(
        id="d", task=task, condition_name="facts", condition=condition, seed=1, turns=said, stop="turn_cap"
    )
    assert discounted(dialogue, 0.5) == reward


def test_a_condition_takes_its_own_discount_off(tmp_path, task):
    made = experiment(BASE, tmp_path)

    def reward(discount: float | None) -> float | None:
        own = made.conditions["facts"].model_copy(update={"method": "grpo", "discount": discount})
        conditions = made.model_copy(update={"conditions": {"facts": own}})
        return play(conditions, task, "How many?", f"The answer is {task.answer}.", "I am done.").reward

    assert (reward(None), reward(0.5), reward(1)) == (0.7, 0.5, 1)


@pytest.fixture(scope="session")
def task() -> Task:
    (found,), _ = load_tasks(
        experiment(BASE, Path()).tasks.model_copy(update={"train": {"underspecified": 1}}), "train"
    )
    return found


def play(made: Experiment, task: Task, *answers: str | list[int] | Exception, steps: int = 0) -> Sample:
    student = job(made)
    engine: Any = Says(student.tokenizer, *answers)
    return asyncio.run(sample(student.cell, open_partners(student), engine, task, "key", steps))


def test_a_step_is_worth_how_like_the_experts_it_is_and_begins_after_the_experts_own(embedded, tmp_path):
    made = experiment(embedded, tmp_path, "grpo_step", tasks={"train": {"full": 12, "underspecified": 3}})
    export(made, "facts")
    rows, tasks = read_rows(made, "facts"), {task.id: task for task in load_tasks(made.tasks, "train")[0]}
    assert len(rows) == 2 * sum(len(task.steps) for task in tasks.values() if not task.missing)
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        task, said = tasks[row["task_id"]], [m["content"] for m in row["prompt"] if m["role"] == "assistant"]
        assert not task.missing and said == [step.text for step in task.steps[: len(said)]]
        assert row["prompt"][-1]["role"] == "user"
    two = next(task for task in tasks.values() if len(task.steps) == 2 and not task.missing)
    for begun, said, reward in [(0, two.steps[0].text, 1.0), (1, two.steps[1].text, 1.0), (1, "Okay.", 0.3)]:
        played = play(made, two, said, steps=begun)
        assert played.reward == reward if reward == 1 else played.reward < reward
        assert sum(played.session.own) == len(played.session.ids) == played.sampled
    assert likeness("abcd", "bcde") == 2 * 3 / 8 and likeness("", "ab") == 0


def test_a_cut_step_is_worth_less_than_any_whole_one(embedded, tmp_path):
    made = experiment(embedded, tmp_path, "grpo_step", tasks={"train": {"full": 1}})
    ((task,), _), tokenizer = load_tasks(made.tasks, "train"), load_tokenizer(str(embedded))
    cut = tokenizer.encode(task.steps[0].text, add_special_tokens=False)
    assert play(made, task, cut).reward == -1 < play(made, task, "Okay.").reward


def test_a_question_is_worth_nothing_by_itself_and_much_by_what_comes_of_it(embedded, tmp_path, task):
    ask, right, wrong = task.missing[0].ask, f"The answer is {task.answer}. I am done.", "The answer is 0. I am done."
    assert play(experiment(embedded, tmp_path, "grpo_next"), task, ask).reward == 0
    turned = play(experiment(embedded, tmp_path, "grpo_turn"), task, ask, right, wrong)
    assert turned.reward == 0.5
    assert turned.sampled > sum(turned.session.own) == len(turned.session.ids), "one turn learns, all were sampled"
    assert play(experiment(embedded, tmp_path, "grpo_next"), task, right).reward == 1
    assert play(experiment(embedded, tmp_path, "grpo_turn"), task, right).reward == 1
    priced = {"turn_values": {"siblings": 2, "rollouts": 2, "question_price": 0.25}}
    assert play(experiment(embedded, tmp_path, "grpo_turn", **priced), task, ask, right, wrong).reward == 0.25
    made = experiment(embedded, tmp_path, "grpo_turn")
    own = Condition(partition="facts", method="grpo_turn", question_price=0.25)
    made = made.model_copy(update={"conditions": {"facts": own}})
    assert play(made, task, ask, right, wrong).reward == 0.25


@pytest.mark.parametrize("method", ONLINE)
def test_saying_nothing_is_worth_nothing_and_its_end_is_scored(embedded, tmp_path, task, method):
    empty = play(experiment(embedded, tmp_path, method), task, "")
    assert empty.reward == (-1 if method == "grpo_step" else 0)
    assert empty.session.own == [1] and len(empty.session.ids) == 1


def test_a_full_context_is_worth_nothing_and_leaves_the_ids_until_then(embedded, tmp_path, task):
    made = experiment(embedded, tmp_path)
    full = play(made, task, f"The answer is {task.answer}.", ContextOverflow("full"))
    assert full.reward == 0 and sum(full.session.own) == len(full.session.ids) > 1
    turned = play(experiment(embedded, tmp_path, "grpo_turn"), task, "Hm.", ContextOverflow("full"), "")
    assert turned.reward == 0 and turned.session.ids
    with pytest.raises(EngineError):
        play(made, task, EngineError("down"))


@pytest.mark.parametrize("failure", ["", ContextOverflow("full")])
def test_a_turn_is_worth_what_comes_of_it_where_the_partner_did_not_fail(embedded, tmp_path, task, failure):
    learns = Condition(partition="symmetric", voice="model", weights="current", method="grpo_turn")
    made = experiment(embedded, tmp_path, "grpo_turn").model_copy(update={"conditions": {"facts": learns}})
    right = f"The answer is {task.answer}. I am done."
    assert play(made, task, "Hm.", failure, "Okay.", right).reward == 1
    assert play(made, task, "Hm.", "Okay.", failure, "Okay.", right).reward == 0.5, "the student's own failure"
    assert play(made, task, "Hm.", failure, failure).reward is None


OWN_READERS = """
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.reading.protocol import Unread

class Reads:
    def __init__(self, answer): self.answer = answer
    async def student(self, turns): return [self.read(turn.text) for turn in turns]
    async def partner(self, turns): return [self.partners(turn.text) for turn in turns]
    def partners(self, text): return Unread("no") if "mumbles" in text else PartnerReading()
    def read(self, text):
        if "mumbles" in text:
            return Unread("no", engine="down" in text)
        return StudentReading(attempt=self.answer if "so it is" in text else None, done=text != "Hm.")

PARTNER, METRICS = Reads("0"), Reads({answer!r})
"""


def test_what_is_rewarded_is_what_the_metrics_reader_read(embedded, tmp_path, task):
    (tmp_path / "own.py").write_text(OWN_READERS.replace("{answer!r}", repr(task.answer)))
    own = {"partner": f"{tmp_path}/own.py:PARTNER", "metrics": f"{tmp_path}/own.py:METRICS"}
    made = experiment(embedded, tmp_path, reading=own)
    assert play(made, task, "so it is").reward == 1
    assert play(made, task, f"The answer is {task.answer}.").reward == 0
    assert play(made, task, "mumbles").reward == 0
    with pytest.raises(EngineError, match="no"):
        play(made, task, "mumbles down")
    model = made.conditions["facts"].model_copy(update={"voice": "model", "weights": "current"})
    spoken = made.model_copy(update={"conditions": {"facts": model}})
    assert play(spoken, task, "Hm.", "mumbles").reward is None


def test_under_a_price_saying_nothing_is_worth_no_more_than_failing_with_all_words(embedded, tmp_path, task):
    made = experiment(embedded, tmp_path, "grpo_turn")
    conditions = {"facts": made.conditions["facts"].model_copy(update={"token_price": 0.02})}
    priced = made.model_copy(update={"conditions": conditions})
    silent = play(priced, task, "").reward
    failed = play(priced, task, "The answer is 0.", *["I am done."] * 9).reward
    assert silent == -1 < failed < 0
    assert play(made, task, "").reward == 0


def test_under_a_price_of_questions_silence_is_worth_less_than_asking_for_all(embedded, tmp_path, task):
    made = experiment(
        embedded, tmp_path, "grpo_turn", turn_values={"siblings": 2, "rollouts": 2, "question_price": 0.1}
    )
    asks_all = " ".join(fact.ask for fact in task.facts)
    asked = play(made, task, *[asks_all] * 9).reward
    assert play(made, task, "").reward < asked < -made.dialogue.turns * 0.1


def test_who_has_no_reward_is_dealt_none_and_a_lone_reward_is_compared_with_nothing():
    dealt = by_lot([1.0, None, 1.0, None, 5.0, None], 3, "0")
    assert dealt == [1.0, None, 1.0, None, 5.0, None]
    assert comparable([*dealt, 0.0, 3.0, None], 3) == [1.0, None, 1.0, 5.0, 5.0, 5.0, 0.0, 3.0, None]
    assert comparable([None] * 3, 3) == [0.0] * 3
    assert without_spread([1.0, None, 1.0, 0.0, 3.0, None], 3) == [True] * 3 + [False] * 3


def test_rewards_by_lot_reward_nothing_that_was_said():
    dealt = [by_lot([1.0, 0.0, 0.0, 0.0, 7.0, 7.0, 7.0, 8.0], 4, str(i)) for i in range(4000)]
    assert by_lot([1.0, 2.0, 3.0, 4.0], 4, "0") == by_lot([1.0, 2.0, 3.0, 4.0], 4, "0")
    assert all(sorted(each[:4]) == [0, 0, 0, 1] and sorted(each[4:]) == [7, 7, 7, 8] for each in dealt)
    for i in range(4):  # who was rewarded keeps it as often as any other gets it: its advantage is 0 on average
        assert abs(sum(each[i] for each in dealt) / 4000 - 0.25) < 0.03

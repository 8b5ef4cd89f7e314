"""What a reply is worth, by hand, and which replies are learned."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue
from pipeline.posing.replies import Reply
from pipeline.posing.reward import REFUSED, Played, best, mean_reward, played, reward, rewarding
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import Appender
from tests.builders import small_experiment
from tests.pipeline.posing.test_pose import TASK


def test_a_task_is_worth_most_where_half_its_dialogues_end_right_and_a_refusal_least():
    worth = [reward(Played(8, right)) for right in range(9)]
    assert max(worth) == worth[4] == 1
    assert worth[:5] == sorted(worth[:5]) and worth == worth[::-1] and len(set(worth)) == 5
    assert worth[0] == pytest.approx(math.exp(-0.0625 / 0.02)) == pytest.approx(0.044, abs=5e-4)
    assert min(worth) > REFUSED


def reply(id: str, document: str, attempt: int) -> Reply:
    return Reply(id=id, document=document, attempt=attempt, said=id)


def test_the_best_replies_to_a_prompt_are_learned_unless_below_the_mean_of_all():
    replies = [reply("low", "a", 0), reply("high", "a", 2), reply("tied", "a", 4), reply("other kind", "a", 1),
               reply("other document", "b", 0), reply("unplayed", "c", 0), reply("refused", "d", 0)]  # fmt: skip
    worth = {"low": 0.5, "high": 0.9, "tied": 0.9, "other kind": 0.1, "other document": 0.6, "refused": REFUSED}
    assert [each.id for each in best(replies, worth)] == ["high", "tied", "other document"]


def test_where_all_are_worth_the_same_all_are_learned():
    replies = [reply(str(i), "a", 0) for i in range(3)]
    assert best(replies, {each.id: 0.3 for each in replies}) == replies


def experiment(out: Path) -> Experiment:
    conditions = {
        "facts": {"partition": "facts"}, "volunteer": {"partition": "facts", "disclosure": "volunteer"},
        "again": {"partition": "facts", "learns_from": "facts"}, "erring": {"partition": "facts", "manner": "erring"},
        "chatter": {"partition": "facts", "disclosure": "chatter"},
        "peer": {"partition": "symmetric"}, "solo": {"partition": "solo"}, "answer": {"partition": "answer"},
    }  # fmt: skip
    tasks = {"source": "posed", "path": "posed.jsonl"}
    return small_experiment(out, conditions=conditions, tasks=tasks)


def store(run: Experiment, condition_name: str, task: Task, *answers: str) -> None:
    """Dialogues of one turn each, in which the student gives these answers."""
    with Appender(dialogues_path(run.run, condition_name)) as file:
        for i, answer in enumerate(answers):
            said = StudentReading(attempt=answer)
            file.append(
                Dialogue(
                    id=f"{condition_name}-{task.id}-{i}",
                    task=task,
                    condition_name=condition_name,
                    condition=run.conditions[condition_name],
                    seed=1,
                    turns=(Turn(party="student", text=answer, reading=said, heard=said),),
                    stop="turn_cap",
                )
            )


def test_dialogues_count_whose_partner_holds_the_evidence_and_nothing_else(tmp_path: Path):
    run = experiment(tmp_path)
    assert rewarding(run) == ["facts", "volunteer", "again"]
    store(run, "facts", TASK, "1", TASK.answer, TASK.answer)
    store(run, "volunteer", TASK, "2")
    store(run, "peer", TASK, TASK.answer)
    assert played(run) == {TASK.id: [Played(dialogues=3, right=2), Played(dialogues=1, right=0)]}


def test_always_right_in_one_condition_and_never_in_another_is_worth_little(tmp_path: Path):
    run, sometimes = experiment(tmp_path), TASK.model_copy(update={"id": "sometimes"})
    store(run, "volunteer", TASK, TASK.answer, TASK.answer)
    store(run, "facts", TASK, "1", "2")
    for name in ("volunteer", "facts"):
        store(run, name, sometimes, "1", TASK.answer)
    worth = {id: mean_reward(of_conditions) for id, of_conditions in played(run).items()}
    assert worth == {TASK.id: pytest.approx(reward(Played(2, 2))), "sometimes": 1}


def test_each_condition_counts_alike_however_many_dialogues_it_has():
    assert mean_reward([Played(100, 100), Played(2, 1)]) == pytest.approx((reward(Played(1, 1)) + 1) / 2)

"""What students that play while they learn begin with, how much they play, and what is refused."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from test_online import experiment

from pipeline.core.schema import Message, Turn
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.export import export
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import Prompts
from pipeline.runs.dialogue_pool import Spent, spent
from pipeline.runs.store import rewrite
from pipeline.runs.student_files import RECORD
from pipeline.tasks.loading import load_tasks
from training.inputs.job import batching
from training.inputs.untrained import NothingToTrain
from training.online.budget import optimizer_steps
from training.student import train


def test_rows_are_the_tasks_of_the_condition_with_what_the_student_reads_first(embedded, tmp_path):
    condition = Condition(partition="facts", method="grpo", specifications=("underspecified",))
    made = experiment(embedded, tmp_path, student={"model": str(embedded), "prompts": "chat"})
    made = made.model_copy(update={"conditions": {"facts": condition}})
    report, rows = export(made, "facts"), read_rows(made, "facts")
    assert report.path.name == "prompt_only" and report.rows == len(rows) == len({row["id"] for row in rows}) == 8
    tasks = {task.id: task for task in load_tasks(made.tasks, "train")[0]}
    expected: list[Message] = view(tasks[rows[0]["task_id"]], condition, (), "student", Prompts("chat"))
    assert rows[0]["prompt"] == expected and expected[0]["role"] == "system"
    assert {(row["seed"], row["specification"]) for row in rows} == {(1, "underspecified"), (2, "underspecified")}


def test_as_many_tokens_are_sampled_as_the_others_pool_cost(embedded, tmp_path):
    made = experiment(embedded, tmp_path, training={}, turn_values={"siblings": 4, "rollouts": 2})
    pool = Spent(tokens=128 * 300, first=20.0, later=10.0)
    assert optimizer_steps(made, "grpo", 300, 300, pool) == 10
    assert optimizer_steps(made, "grpo_turn", 300, 300, pool) == 300 // (20 + 2 * 10) == 7
    assert optimizer_steps(made, "grpo_next", 300, 300, pool) == 15
    assert optimizer_steps(made, "grpo", 300, 15, pool) == 0, "a step has 16 tasks"


def test_training_ends_when_the_pools_tokens_are_sampled(embedded, tmp_path):
    made = experiment(embedded, tmp_path)
    conditions = made.conditions | {"pool": Condition(partition="facts")}
    made = made.model_copy(update={"conditions": conditions})
    task = load_tasks(made.tasks, "train")[0][0]
    turns = tuple(Turn(party="student", text="Hm.", tokens=count) for count in (5, 1))
    condition = conditions["pool"].shaped()
    talk = Dialogue(id="d", task=task, condition_name="pool", condition=condition, seed=1, turns=turns, stop="turn_cap")
    rewrite(tmp_path / "dialogues/pool.jsonl", [talk.model_copy(update={"id": str(i)}) for i in range(60)])
    assert spent(Cell(made, "facts", 1)) == Spent(360, 5.0, 1.0) and spent(Cell(made, "facts", 2)) is None
    export(made, "facts")
    record = json.loads((train(Cell(made, "facts", 1)) / RECORD).read_text())
    # The pool's short dialogues promise seven steps; this student's are longer.
    assert record["optimizer_steps"] < 360 // (8 * 6) == 7
    assert record["sampled_tokens"] >= 360 > record["sampled_tokens"] * (record["optimizer_steps"] - 2) / 7


def test_a_budgets_tokens_are_those_that_its_own_tasks_took(embedded, tmp_path):
    made = experiment(embedded, tmp_path)
    half = made.conditions["facts"].model_copy(update={"budget": 0.5})
    made = made.model_copy(update={"conditions": {"facts": half, "pool": Condition(partition="facts")}})
    tasks = load_tasks(made.tasks, "train")[0]
    talks = [
        Dialogue(
            id=task.id, task=task, condition_name="pool", condition=made.conditions["pool"].shaped(), seed=1,
            turns=(Turn(party="student", text="Hm.", tokens=10**i),), stop="turn_cap",
        )
        for i, task in enumerate(tasks)
    ]  # fmt: skip
    rewrite(tmp_path / "dialogues/pool.jsonl", talks)
    took = sum(10**i for i, task in enumerate(tasks) if half.affords(task.id))
    found, whole = (spent(Cell(made, name, 1)) for name in ("facts", "pool"))
    assert found is not None and whole is not None and 0 < found.tokens == took < whole.tokens


def test_no_more_dialogues_are_played_than_the_other_methods_have(embedded, tmp_path):
    default = {"training": {}, "turn_values": {"siblings": 4, "rollouts": 2}}
    made = experiment(embedded, tmp_path, **default)
    assert optimizer_steps(made, "grpo", 300, 300, None) == 300 * (1 + 4 * 2) // 128 == 21
    assert optimizer_steps(made, "grpo_turn", 300, 300, None) == 300 * (1 + 4 * 2) // 256 == 10
    assert optimizer_steps(made, "grpo_next", 300, 300, None) == 21
    assert optimizer_steps(made, "grpo", 15, 15, None) == 0, "a step has 16 tasks"
    more = default | {"dialogue": {"per_task": 3}, "turn_values": {"siblings": 0}}
    assert optimizer_steps(experiment(embedded, tmp_path, **more), "grpo", 300, 300, None) == 900 // 128
    assert batching(made, "grpo") == (32, 4) and batching(made) == (32, 1)
    few = experiment(embedded, tmp_path, training={})
    export(few, "facts")
    with pytest.raises(NothingToTrain, match=r"6 tasks are too few .* training\.grpo\.tasks_per_step"):
        train(Cell(few, "facts", 1))


@pytest.mark.parametrize(
    ("condition", "sections", "reason"),
    [
        ({"learns_from": "other"}, {}, "learns from tasks, by playing"),
        ({}, {"rounds": 2}, "Set rounds: 1"),
        ({"partition": "script", "voice": "model"}, {}, "needs a partner that answers"),
        ({"voice": "human"}, {"tasks": {"source": "mathdial"}}, "needs a partner that answers"),
        ({}, {"dialogue": {"temperature": 0}}, "Set it above 0"),
        ({}, {"student": {"sampling": {"top_k": 20}}}, r"student\.sampling\.top_k: 20 cuts"),
        ({}, {"training": {"methods": {"grpo": {"epochs": 2}}}}, r"training\.methods\.grpo\.epochs"),
        ({"method": "grpo_step"}, {}, "use a partition whose partner holds one"),
        ({"method": "grpo_step", "partition": "key"}, {"tasks": {"source": "sharded"}}, "needs an expert's steps"),
        ({"method": "expert", "partition": "verifier"}, {}, "holds one .*, or facts with a rule .*, not 'verifier'"),
        ({"method": "expert", "disclosure": "volunteer"}, {}, r"not 'facts' \(volunteer, rule, plain\)"),
        ({"method": "expert", "voice": "model"}, {}, r"not 'facts' \(on_request, model, plain\)"),
        ({"method": "expert", "partition": "key", "selection": "none"}, {}, "nothing to choose from"),
        ({"keep": "grounded"}, {}, "conditions.one.keep: 'grounded' chooses between whole dialogues"),
        ({"method": "dpo", "keep": "grounded"}, {}, "conditions.one.keep: 'grounded' chooses between whole dialogues"),
        ({"pass_rate": (0.2, 0.8)}, {"dialogue": {"per_task": 4}}, "rests on stored dialogues"),
        ({"method": "kto"}, {"training": {"learn": "final"}}, "wrong ones have no turn to learn"),
        ({"method": "expert", "partition": "key", "learns_from": "other"}, {}, "differs in partition"),
        ({"method": "expert", "partition": "key"}, {"rounds": 2}, "Set rounds: 1"),
        ({"method": "sft", "learns_from": "online"}, {}, "must name a condition that has dialogues"),
    ],
)
def test_what_cannot_be_played_while_learning_is_refused_with_its_reason(condition, sections, reason):
    one = Condition(**({"partition": "facts", "method": "grpo"} | condition))
    others = {"other": Condition(partition="facts"), "online": Condition(partition="facts", method="grpo_next")}
    human = {name: other.model_copy(update={"voice": one.voice, "method": "sft"}) for name, other in others.items()}
    conditions = {"one": one} | (human if one.voice == "human" else others)
    with pytest.raises(ValidationError, match=reason):
        Experiment(name="x", conditions=conditions, **sections)

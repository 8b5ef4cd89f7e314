"""The rows that show how answers are used: every way of asking as often, no loss on any, and what follows is said."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from evals.exams.narrowing.exchanges import exchanges
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.expert import worked_out
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import Student, Warmup
from pipeline.reading.choices.read_choice import NEXT_STEP, option_attempt
from pipeline.reading.stored import partner_reading, student_reading
from pipeline.tasks.loading import base_tasks
from training.hidden_item.ways import WAYS, first_turn, used_answer
from training.warmup import warmup_rows

ITEMS = {"source": "hidden_item", "train": {"full": 8, "underspecified": 8}, "exam": {"full": 4, "underspecified": 4}}


def experiment(**sections: Any) -> Experiment:
    student = {"prompts": "brief", "sampling_prompt": "may_ask"}
    common = {"name": "ways", "tasks": ITEMS, "student": student, "conditions": {"facts": {"partition": "facts"}}}
    return Experiment.model_validate(common | sections)


@pytest.fixture(scope="module")
def tasks() -> dict[str, list[Task]]:
    made = base_tasks(experiment().tasks, {"full": 80, "underspecified": 80})
    return {name: [task for task in made if task.specification == name] for name in ("full", "underspecified")}


@pytest.mark.parametrize("specification", ["full", "underspecified"])
@pytest.mark.parametrize("way", WAYS)
def test_the_last_turn_names_an_option_that_fits_all_that_was_told(tasks, specification, way):
    for i, task in enumerate(tasks[specification]):
        turns = used_answer(task, i, way)
        [asked, _] = exchanges(task, [fact for fact in task.facts if fact.public], turns)
        named = option_attempt(turns[-1].text, task.choice)
        assert named in {task.choice.name(option) for option in asked.after}
        assert not student_reading(task, turns, 2).asks_anything
        assert specification == "underspecified" or named == task.answer


def answered(tasks: list[Task], way: str) -> Counter[str]:
    counted = Counter[str]()
    for i, task in enumerate(tasks):
        turns = used_answer(task, i, way)
        does, says = student_reading(task, turns, 0), partner_reading(task, turns, 1)
        counted[f"confirms {says.confirms}"] += 1
        counted[f"feedback {says.feedback}"] += 1
        counted["told"] += bool(says.tells)
        counted["of a value"] += any(task.choice.attribute(word) is not None for word in does.whether)
    return counted


@pytest.mark.parametrize("specification", ["full", "underspecified"])
def test_every_kind_of_answer_comes_as_often(tasks, specification):
    given = {way: answered(tasks[specification], way) for way in WAYS}
    assert given["open"]["told"] == given["step"]["told"] == 80
    assert given["closed"]["confirms yes"] == given["closed"]["confirms no"] == given["closed"]["of a value"] == 40
    assert given["tried"]["feedback right"] == given["tried"]["feedback wrong"] == 40


def test_partners_speak_in_wordings_of_training(tasks):
    said = [used_answer(task, i, way)[1].text for i, task in enumerate(tasks["full"][:20]) for way in WAYS]
    exam = [wording.format("") for wordings in WORDINGS["exam"].values() for wording in wordings]
    assert not [text for text in said if any(wording in text for wording in exam)]


def test_each_task_stands_behind_every_way_and_no_loss_is_on_any():
    rows = warmup_rows(Cell(experiment(), "facts", 1), Warmup(full=0, told=0, used=8))
    ways = {(row["task_id"], row["messages"][2]["content"]) for row in rows}
    assert len(rows) == len(ways) == 8 * len(WAYS) == len({row["id"] for row in rows})
    assert Counter(row["specification"] for row in rows) == {"full": 16, "underspecified": 16}
    assert all(row["learn"] == [False] * 4 + [True] for row in rows)


def test_first_turns_ask_each_way_as_rarely_on_either_kind_of_task(tasks):
    for made in tasks.values():
        said = [first_turn(task, i) for i, task in enumerate(made)]
        does = [student_reading(task, turns, 0) for task, turns in zip(made, said, strict=True)]
        closed = sum(bool(each.whether) for each in does)
        step = sum(turns[0].text == NEXT_STEP for turns in said)
        open_ = sum(each.asks_anything and not each.whether for each in does) - step
        assert open_ == closed == step == 8 and sum(each.attempt is not None for each in does) == 56


def test_ways_have_the_sampling_prompt_and_full_tasks_are_answered_by_what_is_known():
    run = experiment()
    rows = warmup_rows(Cell(run, "facts", 1), Warmup(full=2, told=2, ways=4))
    told = ["You may ask" in row["messages"][0]["content"] for row in rows]
    assert told == [False] * 4 + [True] * 4
    task = base_tasks(run.tasks, {"full": 1})[0]
    reading = student_reading(task, [Turn(party="student", text=worked_out(task))], 0)
    assert reading.attempt == task.answer and reading.tells == {f.id for f in task.facts if f.value}


def test_ways_without_a_sampling_prompt_are_refused():
    with pytest.raises(ValueError, match=r"warmup\.ways: 5 rows .* sampling_prompt names none"):
        Student(warmup=Warmup(ways=5))


@pytest.mark.parametrize("kind", ["used", "ways"])
def test_a_source_without_options_has_no_such_rows(kind):
    student = {"prompts": "brief", "sampling_prompt": "demonstrated", "warmup": {kind: 8}}
    with pytest.raises(ValueError, match="`used` and `ways` have options, and those of source 'embedded' have none"):
        experiment(tasks={"source": "embedded"}, student=student)

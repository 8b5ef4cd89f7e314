"""Kinds of problems that are held out of training."""

from itertools import islice

import pytest

from pipeline.core.errors import ConfigError
from pipeline.experiment.assignment import exam_tasks
from pipeline.tasks.embedded import make
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.word_problems import HARD, KINDS, embedded_tasks
from tests.builders import small_experiment

PRODUCTS = {"train": {"full": 20, "underspecified": 20}, "exam": {"full": 6, "underspecified": 9}, "held_out": HARD}


def test_held_out_kinds_are_only_among_the_tasks_of_which_first_turns_are_asked():
    exp = small_experiment(tasks=PRODUCTS, exams={"held_out": 5})
    train, own, aside = load_tasks(exp.tasks, "train")[0], *exam_tasks(exp)
    assert [len(tasks) for tasks in (train, own, aside)] == [40, 15, 10]
    assert not {task.kind for task in (*train, *own)} & set(HARD)
    assert {task.kind for task in aside} <= set(HARD)
    assert {task.split for task in (*own, *aside)} == {"exam"}
    assert [task.specification for task in aside] == ["full"] * 5 + ["underspecified"] * 5


@pytest.mark.parametrize("held_out", [(), HARD])
def test_embedded_tasks_are_the_same_whenever_they_are_gone_through_whole_or_in_part(held_out):
    counts = {"underspecified": 7, "full": 12, "false_premise": 5}
    tasks = PRODUCTS | {"train": counts, "held_out": held_out}
    made = make(small_experiment(tasks=tasks, exams={"held_out": len(held_out)}).tasks, "train")
    expected = [
        task
        for name, count in counts.items()
        for task in islice((task for task in embedded_tasks("train", name) if task.kind not in held_out), count)
    ]
    assert list(islice(made, 9)) == expected[:9]
    assert list(made) == list(made) == expected


def test_the_stress_tasks_beside_them_are_of_kinds_that_are_trained():
    aside = exam_tasks(small_experiment(tasks=PRODUCTS, exams={"held_out": 5, "stress": 4}))[1]
    assert [task.kind in HARD for task in aside] == ([False] * 4 + [True] * 5) * 2


def test_twins_stay_twins():
    exp = small_experiment(tasks=PRODUCTS, exams={"held_out": 5})
    numbers = {
        name: [task.id.split("-")[1] for task in load_tasks(exp.tasks, "train")[0] if task.specification == name]
        for name in ("full", "underspecified")
    }
    assert numbers["full"] == numbers["underspecified"]


def test_without_held_out_kinds_the_tasks_are_those_that_they_always_were():
    plain = {key: value for key, value in PRODUCTS.items() if key != "held_out"}
    kinds = {
        task.kind for task in load_tasks(small_experiment(tasks=plain | {"train": {"full": 200}}).tasks, "train")[0]
    }
    assert kinds == set(KINDS)


@pytest.mark.parametrize(
    ("held_out", "exam", "message"),
    [
        (["products"], {"full": 2}, "must be kinds of embedded problems"),
        (list(KINDS), {"full": 2}, "not all of them"),
        (["left"], {"false_premise": 2}, "kind of all false_premise problems"),
    ],
)
def test_kinds_that_cannot_be_held_out_are_refused(held_out, exam, message):
    exp = small_experiment(tasks={"held_out": held_out, "exam": exam}, exams={"held_out": 1})
    with pytest.raises(ConfigError, match=message):
        exam_tasks(exp)


@pytest.mark.parametrize(
    ("tasks", "exams", "message"),
    [
        ({"held_out": ["boxes"]}, {}, "give both, or neither"),
        ({}, {"held_out": 3}, "give both, or neither"),
        ({"source": "sharded", "held_out": ["boxes"]}, {"held_out": 3}, "does not have"),
    ],
)
def test_held_out_kinds_and_their_exam_go_together(tasks, exams, message):
    with pytest.raises(ValueError, match=message):
        small_experiment(tasks=tasks, exams=exams)

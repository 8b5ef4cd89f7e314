"""What the base of hidden items is trained on: ways of getting at more at low and equal rates, in its own split."""

import itertools
import random
import re
from collections import Counter

import pytest

from pipeline.core.schema import Task, Turn
from pipeline.datasets.first_acts import first_act
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.reading.choices.read_choice import NEXT_STEP, option_attempt
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from pipeline.tasks.hidden_item.item_words import item_words
from pipeline.tasks.split import HELD_OUT
from training.embedded.hidden_item_corpus import SCENES, Dispositions, SimulatedStudent, corpus, drill
from training.embedded.training_example import TrainingExample

BLIND = Condition(partition="symmetric")


@pytest.fixture(scope="module")
def examples() -> list[TrainingExample]:
    return list(itertools.islice(corpus(3), 300))


def tasks(specification: str, count: int) -> list[Task]:
    return list(itertools.islice(hidden_item_tasks("base", specification), count))  # type: ignore[arg-type]


def opening(task: Task, rng: random.Random, condition: Condition = BLIND) -> str:
    text = SimulatedStudent(task, condition, "student", rng, Dispositions()).open()
    if text == NEXT_STEP:
        return "step"
    said = (Turn(party="student", text=text),)
    kind = first_act(
        Dialogue(id="d", task=task, condition_name="c", condition=condition, seed=1, turns=said, stop="turn_cap")
    )
    return "open" if kind in ("ask", "ask_known") else kind


@pytest.mark.parametrize("specification", ["full", "underspecified"])
def test_each_way_of_getting_at_more_is_as_rare_on_every_kind_of_task(specification):
    rng, how = random.Random(0), Dispositions()
    assert (planted := how.open_question) == how.closed_question == how.step
    ways = Counter(opening(task, rng) for task in tasks(specification, 300) for _ in range(4))
    for way in ("open", "closed", "step"):
        assert abs(ways[way] / ways.total() - planted) < 4 * (planted * (1 - planted) / ways.total()) ** 0.5, ways
    assert ways["attempt"] == ways.total() - ways["open"] - ways["closed"] - ways["step"]


def test_an_open_question_is_as_often_for_what_stands_there():
    """Nothing in it knows when to ask: of two facts, one of which is told, it asks for either."""
    rng, told = random.Random(1), list[bool]()
    for task in tasks("underspecified", 300):
        if len(task.missing) == 1 and task.stratum == "hard":
            student = SimulatedStudent(task, BLIND, "student", rng, Dispositions())
            missing = f"What {task.kind} is it?"
            told += [student.ask() != missing for _ in range(8)]
    assert abs(sum(told) / len(told) - 0.5) < 4 * (0.25 / len(told)) ** 0.5


def test_what_it_is_told_is_used():
    """With all facts told, whatever it puts forward is the item."""
    rng = random.Random(2)
    for task in tasks("full", 100):
        student = SimulatedStudent(task, BLIND, "student", rng, Dispositions())
        assert task.choice is not None and option_attempt(student.put_forward(), task.choice) == task.answer


def test_loss_never_falls_on_what_somebody_else_said(examples):
    assert all(example.messages[i]["role"] == "assistant" for example in examples for i in example.learn)
    assert sum(bool(example.learn) for example in examples) > 250


def test_only_the_base_split_and_no_held_out_wording_is_used(examples):
    kept_back = {
        task.question
        for split in ("train", "exam")
        for name in ("full", "underspecified")
        for task in itertools.islice(hidden_item_tasks(split, name), 200)  # type: ignore[arg-type]
    }
    held_out = [wording.split("{")[0].strip() for wording in item_words().questions[-HELD_OUT:]]
    for example in examples:
        question = example.messages[0]["content"].splitlines()[0]
        assert question not in kept_back
        assert not any(start in question for start in held_out if len(start) > 8)


def test_in_a_drill_one_option_alone_has_what_is_known():
    rng = random.Random(4)
    for task in tasks("full", 60):
        asked, answer = drill(task, rng, Dispositions()).messages
        listed, known = asked["content"].removeprefix("In which of these: ").split("? ")
        values = known.removesuffix(".").removeprefix("It is ").split(". It is ")
        fitting = [name for name in re.split(", | or ", listed) if set(values) <= set(name.split())]
        assert answer["content"] == f"The answer is {fitting[0]}." and len(fitting) == 1


def test_every_kind_of_knowledge_is_met():
    assert {"verifier", "answer", "key", "facts", "jigsaw", "misled"} <= {scene.partition for scene in SCENES.values()}


def test_one_seed_gives_one_corpus():
    first, again, other = (list(itertools.islice(corpus(seed), 20)) for seed in (1, 1, 2))
    assert first == again != other

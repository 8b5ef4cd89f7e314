"""Q-priming replaces wrong answers by questions, as often as it says, and leaves everything else alone."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Any

import pytest

from pipeline.core.schema import Fact, Task, Turn
from pipeline.dialogue.episode import Cast, Episode, Played
from pipeline.dialogue.q_priming import NOTHING_TO_ASK, is_primed, model_question, question_for, rule_question
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import Prompts
from pipeline.reading.choices.read_choice import NEXT_STEP
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from pipeline.tasks.lookup.lookup_tasks import lookup_tasks
from tests.fakes import Parrot

PRIMED = Condition(partition="facts", method="q_priming")
SETTINGS = DialogueSettings(turns=3)


def played(task: Task, condition: Condition, *lines: str, key: str = "k", **cast: Any) -> Played:
    heard = Cast(Parrot(*lines), **cast)
    return asyncio.run(play(Episode(task=task, condition=condition, cast=heard, settings=SETTINGS, key=key)))


def keys(task: Task, *lines: str) -> str:
    """A key under which the first turn is replaced."""
    return next(str(i) for i in range(100) if 0 in played(task, PRIMED, *lines, key=str(i)).primed)


def test_a_wrong_first_answer_gives_way_to_a_question_for_what_the_partner_knows(underspecified):
    task = underspecified[0]
    lines = ("The answer is 0.", "I am done.")
    made = played(task, PRIMED, *lines, key=keys(task, *lines))
    assert made.turns[0].text == task.missing[0].ask and made.turns[0].finished
    assert task.missing[0].text in made.turns[1].text


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_turn_t_is_replaced_with_probability_three_quarters_to_the_t(underspecified, turn):
    said = Turn(party="student", text="The answer is 0.")
    hits = sum(is_primed(underspecified[0], PRIMED, said, turn, str(seed)) for seed in range(4000))
    assert hits / 4000 == pytest.approx(0.75 ** (turn + 1), abs=0.03)


def test_questions_right_answers_and_other_methods_are_left_alone(underspecified):
    task = underspecified[0]
    for text in ("How many?", "I am done.", f"The answer is {task.answer}."):
        assert not any(is_primed(task, PRIMED, Turn(party="student", text=text), 0, str(seed)) for seed in range(50))
    wrong = Turn(party="student", text="The answer is 0.")
    assert not any(is_primed(task, Condition(partition="facts"), wrong, 0, str(seed)) for seed in range(50))


def test_a_question_asks_for_what_was_not_told_yet_and_else_for_nothing(underspecified, full):
    task = next(task for task in underspecified if len(task.missing) == 2)
    first, second = task.missing
    told = [Turn(party="student", text="Hm."), Turn(party="partner", text=first.text)]
    assert rule_question(task, PRIMED, []) == first.ask
    assert rule_question(task, PRIMED, told) == second.ask
    assert rule_question(full[0], PRIMED, []) == NOTHING_TO_ASK
    assert rule_question(task, Condition(partition="symmetric", method="q_priming"), []) == NOTHING_TO_ASK


def test_on_options_the_next_step_of_a_held_solution_is_asked_for_where_no_fact_is():
    task = next(iter(hidden_item_tasks("train", "full")))
    assert rule_question(task, Condition(partition="key", method="q_priming"), []) == NEXT_STEP
    for partition in ("symmetric", "verifier", "answer", "facts"):
        assert rule_question(task, Condition(partition=partition, method="q_priming"), []) == NOTHING_TO_ASK


def test_of_two_hops_the_first_is_asked_about_first():
    both = [task for task in islice(lookup_tasks("train", "underspecified"), 80) if len(task.missing) == 2]
    assert any(task.missing[0].id == "f1" for task in both), "facts stand in any order"
    for task in both:
        first = next(fact for fact in task.missing if fact.id == "f0")
        assert rule_question(task, PRIMED, []) == first.ask


def test_a_model_that_writes_questions_reads_its_own_view_and_the_student_never_does(underspecified):
    task = underspecified[0]
    condition = Condition(partition="facts", method="q_priming", voice="model")
    lines = ("The answer is 0.", "I am done.")
    writer, student = Parrot("Sure. How many hats?", "Okay."), Parrot(*lines)
    cast, key = Cast(student, writer), keys(task, *lines)
    made = asyncio.run(play(Episode(task=task, condition=condition, cast=cast, settings=SETTINGS, key=key)))
    assert made.turns[0].text == "How many hats?"
    assert made.turns[0].tokens == 3 + 3  # what was replaced, and the question
    assert writer.seen[0][0]["content"].startswith(view(task, condition, [], "partner")[0]["content"])
    secret = task.missing[0].text
    assert secret in writer.seen[0][0]["content"]
    assert not any(secret in message["content"] for messages in student.seen for message in messages)


@pytest.mark.parametrize("written", ["Is it {answer}?", "So the answer is {answer}, right?", "{fact} Is that so?"])
def test_a_written_question_that_says_an_answer_or_a_secret_asks_nothing_instead(underspecified, written):
    task = underspecified[0]
    condition = Condition(partition="key", method="q_priming", voice="model")
    lines = ("The answer is 0.", "I am done.")
    told = written.format(answer=task.answer, fact=task.missing[0].text.rstrip(".") + "?")
    cast, key = Cast(Parrot(*lines), Parrot(told, "Okay.")), keys(task, *lines)
    made = asyncio.run(play(Episode(task=task, condition=condition, cast=cast, settings=SETTINGS, key=key)))
    assert made.turns[0].text == NOTHING_TO_ASK and made.primed == (0,)


@pytest.mark.parametrize("name", ["closed", "chat"])
def test_the_writer_of_a_question_sees_the_attempt_that_it_replaces(underspecified, name):
    task, condition = underspecified[0], Condition(partition="facts", method="q_priming", voice="model")
    lines = ("I count 41 of them, so the answer is 0.", "I am done.")
    writer = Parrot("How many hats?", "Okay.")
    cast = Cast(Parrot(*lines), writer, student_prompts=Prompts(name), partner_prompts=Prompts(name))
    key = keys(task, *lines)
    asyncio.run(play(Episode(task=task, condition=condition, cast=cast, settings=SETTINGS, key=key)))
    asked = writer.seen[0][-1]
    assert asked["role"] == "user" and lines[0] in asked["content"]
    assert asked["content"].index(lines[0]) < asked["content"].index("one short question")
    assert lines[0] not in str(writer.seen[1]), "once it is replaced, nobody reads it"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("How many hats does Tom have?", "How many hats does Tom have?"),
        ("Let me see. What is it? And why?", "What is it?"),
        ("The answer is 7.", NOTHING_TO_ASK),
        ("?", NOTHING_TO_ASK),
        ("", NOTHING_TO_ASK),
    ],
)
def test_of_what_a_model_writes_the_first_question_is_taken(text, question):
    assert model_question(text) == question


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Wendy spent 25 years as an accountant.",
         'What is the number that belongs here: "Wendy spent ... years as an accountant"?'),
        ("An empty list raises a ValueError.", 'How does this go on: "An empty list ..."?'),
    ],
)  # fmt: skip
def test_a_question_for_a_fact_without_one_names_it_and_not_its_value(text: str, question: str):
    assert question_for(Fact(id="f", text=text, public=False)) == question

"""pipeline.judging.stated_leak: whether one turn of a partner's tells the answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.schema import Fact, Turn
from pipeline.judging.stated_leak import first_leak
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.reading.stated_answer import gives_away, mentions, states

PENS = "Ana has 20 pens and buys 4 boxes of 3. How many pens does she have?"


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 32.",
        "So that is 20 + 12 = 32 pens.",
        "The total should be 32, not 23.",
        "That makes 32 in all.",
        "32 is the answer that we want.",
        "Let's use 32 as our answer.",
        "It is not 23; it is actually 32.",
        "So she would have $32.",
    ],
)
def test_the_gold_told_as_a_result_or_as_the_answer_is_given_away(text):
    assert gives_away(text, "32", PENS)


@pytest.mark.parametrize(
    "text",
    [
        "How did you get 32?",
        "Is it 32 = 20 + 12?",
        "You took 32 from 40 there.",
        "It is not 32.",
        "It is 132.",
        "It is 32.5 in all.",
        "She has 32 x 2 of them.",
        "What is 20 + 12?",
        "Look at step 2 again.",
        "",
    ],
)
def test_the_gold_in_a_question_a_denial_or_a_longer_number_is_not_given_away(text):
    assert not gives_away(text, "32", PENS)


def test_a_number_of_the_question_is_given_away_by_the_word_or_by_its_sum():
    assert not gives_away("Remember, it was 20 before.", "20", PENS)
    assert gives_away("The answer is 20.", "20", PENS)
    assert gives_away("She has 32 - 12 = 20 pens.", "20", PENS)


def test_the_naive_match_finds_the_gold_in_any_form_and_not_inside_a_number():
    assert mentions("You wrote $1,000.00 there.", "1000")
    assert not mentions("You wrote 21,000 there.", "1000")


@given(st.text(max_size=80), st.integers(0, 99), st.text(max_size=40))
@settings(deadline=None)  # a slow machine is no failure
def test_what_is_stated_is_given_away_and_nothing_is_read_with_an_error(text, gold, question):
    assert gives_away(text, str(gold), question) or not states(text, str(gold), question)


def _talk(task, stop, *texts, voice="rule"):
    turns = [Turn(party="student" if i % 2 == 0 else "partner", text=text) for i, text in enumerate(texts)]
    task = task.model_copy(update={"full_question": PENS, "answer": "32"})
    return Dialogue(
        id="d",
        task=task,
        condition_name="c",
        condition=Condition(partition="facts", voice=voice),
        seed=1,
        turns=tuple(turns),
        stop=stop,
    )


def test_a_result_told_is_a_leak_until_the_student_has_it(full):
    told = ("I am stuck.", "Try again.", "Hm.", "20 + 12 makes 32 pens in all.")
    assert first_leak(_talk(full[0], "imported", *told)) == 1
    assert first_leak(_talk(full[0], "turn_cap", *told, voice="model")) == 1
    assert first_leak(_talk(full[0], "turn_cap", *told)) is None  # a rule partner names the answer where it tells it
    assert first_leak(_talk(full[0], "imported", "The answer is 32.", "Yes, that makes 32.")) is None


def test_a_withheld_fact_that_holds_the_number_of_the_answer_may_be_told(full):
    facts = (Fact(id="a", text="Ana has 32 pens.", needed=False, public=False),)
    task = full[0].model_copy(update={"facts": facts})
    assert first_leak(_talk(task, "turn_cap", "How many pens has Ana?", "Ana has 32 pens.", voice="model")) is None
    assert first_leak(_talk(task, "turn_cap", "Hm.", "Ana has 32 pens. That makes 32 in all.", voice="model")) == 0

"""pipeline.reading.acts: what a turn asks for, and what it tells."""

import itertools

import pytest

from pipeline.core.schema import Fact
from pipeline.reading.acts import asked, given, questions, shows
from pipeline.reading.attempt import attempt
from pipeline.tasks.word_problems import embedded_tasks


def test_every_fact_of_the_embedded_world_is_found_in_its_own_question_and_statement():
    for task in itertools.islice(embedded_tasks("train", "underspecified"), 60):
        for fact in task.facts:
            assert given(fact.text, task.facts) == [fact.id]
            assert fact.id in asked(fact.ask, task.facts)
            assert given(fact.ask, task.facts) == []
            assert attempt(fact.text) is None
            assert attempt(fact.ask) is None


def test_a_fact_is_not_given_by_a_sentence_with_another_number():
    fact = Fact(id="a", text="Tom has 12 pens.")
    assert given("Tom has 12 pens.", [fact]) == ["a"]
    assert given("Tom has 13 pens.", [fact]) == []
    assert given("Does Tom have 12 pens?", [fact]) == []


@pytest.mark.parametrize(
    "asked", ["**What is your budget?**", '"What is it?"', "(What is it?)", "What is it?!", "什么？"]
)
def test_a_question_inside_signs_is_one(asked):
    assert questions(asked) == [asked]


@pytest.mark.parametrize(
    "said", ["I don't think that's right.", "Not exactly.", "Definitely not.", "I doubt you're right."]
)
def test_a_denial_is_no_agreement(said):
    assert not shows(said, "agree")


@pytest.mark.parametrize("said", [
    "That's right.", "Exactly.", "Don't worry, that's right.", "No doubt that's right.",
    "I agree. I do not have the right box.", "That's right. I don't know the correct amount of Tom's pens.",
])  # fmt: skip
def test_an_agreement_stays_one_beside_a_denial_of_something_else(said):
    assert shows(said, "agree")

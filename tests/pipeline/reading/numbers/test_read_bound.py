"""A closed question on the number that is asked for: read in the usual words, and answered by arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Turn
from pipeline.reading.embedded_world.closed import student_request
from pipeline.reading.numbers.read_bound import asked_bound, holds, partner_on_bounds, student_on_bounds
from pipeline.reading.protocol import TurnToRead

TURN = {"question": "How many pens does Tom have?", "answer": "42"}


def student(text: str) -> TurnToRead:
    return TurnToRead(party="student", text=text, **TURN)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("Is it more than 50?", "more than 50"),
        ("Is the answer greater than one hundred?", "more than 100"),
        ("Okay, is the final answer under $1,200?", "less than 1200"),
        ("Would it be at least 10 pens?", "at least 10"),
        ("Could the total be 30 or less?", "at most 30"),
        ("Is it 12.5 or more?", "at least 25/2"),
        ("Is the number between 10 and 20?", "between 10 20"),
        ("I am stuck. Is it an even number?", "even"),
        ("Is it odd? Is it over 7?", "more than 7"),
        ("Let me think\nIs the value greater than or equal to 50??", "at least 50"),
        ("Is it more than 50 big boxes in all, right?", "more than 50"),
    ],
)
def test_the_usual_words_are_read(text: str, bound: str) -> None:
    assert asked_bound(text) == bound


@pytest.mark.parametrize(
    "text",
    [
        "Is it 42?",
        "Does Tom have more than 20 pens?",
        "It is more than 50.",
        "Is it more than Tom has?",
        "Is it bigger than 20 or smaller?",
        "How much more than 50 is it?",
        "Is it not more than 50?",
        "Is it more than 5 pm?",
        "Is that more than 50?",
        "How many boats has Eva? Is it more than 7?",
        "Is it more than 20 pens in each box?",
        "Is it more than 5 dollars per ticket?",
        "Is it more than one step to solve?",
        "Is it more than 50 if I add the red ones?",
        "Is it more than 6 apples that Ana has?",
        "Is it more than 50 cents?",
        "Is it more than 50%?",
        "Is it more than half of them?",
        "Is it 50, more or less?",
    ],
)
def test_other_questions_are_none(text: str) -> None:
    assert asked_bound(text) is None


@given(st.integers(-500, 500), st.integers(-500, 500))
def test_what_is_confirmed_is_arithmetic(number: int, answer: int) -> None:
    said = {name: holds(f"{name} {number}", str(answer)) for name in ("more than", "less than", "at least", "at most")}
    assert said["more than"] is not said["at most"] and said["less than"] is not said["at least"]
    assert said["more than"] == (answer > number) and said["less than"] == (answer < number)
    assert holds(f"between {number} {answer}", str(answer)) and holds(f"between {answer} {number}", str(number))
    assert holds("even", str(answer)) is not holds("odd", str(answer))


@given(st.fractions(0, 100).filter(lambda each: each.denominator > 1))
def test_what_is_no_whole_number_is_neither_even_nor_odd(answer: Fraction) -> None:
    assert holds("even", str(answer)) is holds("odd", str(answer)) is False


@pytest.mark.parametrize("answer", ["the red box", "5 pm", "40%", "50 cents"])
def test_an_answer_in_words_or_another_unit_decides_nothing(answer: str) -> None:
    assert holds("more than 1/2", answer) is holds("even", answer) is None


def test_it_is_a_question_and_no_attempt_whatever_another_reader_took_it_for() -> None:
    read = StudentReading(attempt="10", tentative=True, asks=frozenset({"b"}), generic_request=True)
    found = student_on_bounds(student("Would it be at least 10?"), read)
    assert found == StudentReading(bound="at least 10", other_question=True)
    both = student_on_bounds(
        student("How many has Ana? I think 7. Is the answer odd?"), read.model_copy(update={"attempt": "7"})
    )
    assert both.attempt == "7" and both.asks == {"b"} and both.bound == "odd"


def test_what_is_asked_or_tried_beside_it_is_kept() -> None:
    asks = StudentReading(asks=frozenset({"b"}), generic_request=True)
    request = student_on_bounds(student("Please tell me what Eva takes. Is the total more than 7?"), asks)
    assert request.asks == {"b"} and request.generic_request
    missing = student_on_bounds(student("I am missing something. Is it more than 7?"), asks)
    assert not missing.asks and missing.generic_request
    tried = student_on_bounds(student("The answer is 131. Is it at least 131?"), StudentReading(attempt="131"))
    assert tried.attempt == "131" and tried.bound == "at least 131"


def test_who_asks_nothing_of_the_number_is_read_as_before() -> None:
    read = StudentReading(attempt="7")
    assert student_on_bounds(student("I get 7."), read) is read
    assert "bound" not in read.model_dump()
    words = TurnToRead(party="student", text="Is it more than 7?", question="-", numeric=False)
    assert student_on_bounds(words, read) is read


def test_yes_to_such_a_question_is_no_verdict() -> None:
    asked = Turn(party="student", text="Is it more than 50?")
    turn = TurnToRead(party="partner", text="No, it is not.", before=(asked,), **TURN)
    assert partner_on_bounds(turn, PartnerReading(feedback="wrong")) == PartnerReading(confirms="no")
    later = TurnToRead(party="partner", text="No.", before=(Turn(party="student", text="Is it 50?"),), **TURN)
    assert partner_on_bounds(later, PartnerReading(feedback="wrong")) == PartnerReading(feedback="wrong")


def test_a_verdict_on_an_answer_stays_one_whatever_is_asked_beside_it() -> None:
    asked = Turn(party="student", text="The answer is 42. Is it even?")
    by_a_network = Turn(party="student", text="I think 42 pens. Is it even?", heard=StudentReading(attempt="42"))
    for said in (asked, by_a_network):
        turn = TurnToRead(party="partner", text="Yes, that is right.", before=(said,), **TURN)
        assert partner_on_bounds(turn, PartnerReading(feedback="right")) == PartnerReading(feedback="right")


def test_the_closed_reader_hears_it() -> None:
    assert student_request(student("Is it more than 50?")).bound == "more than 50"

"""What is counted of a turn beside what the network sees."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.schema import Fact, Turn
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.semantic.features import (
    PAIR_FEATURES,
    SPAN_FEATURES,
    TURN_FEATURES,
    pair_features,
    span_features,
    spans,
    turn_features,
)

FACT = Fact(id="f1", text="There are 5 crates.", public=False)
TEXTS = st.text(st.sampled_from("ab 0123456789.,?!=+-*/$\n:'x") | st.characters(codec="utf-8"), max_size=120)


def turn(text: str, numeric: bool = True, party: str = "student", answer: str = "35") -> TurnToRead:
    before = (Turn(party="student", text="Is it 30?"), Turn(party="partner", text="No, 5 crates."))
    return TurnToRead(
        party=party,  # type: ignore[arg-type]
        text=text,
        question="Each crate holds 7 pens. How many pens are there?",
        facts=(FACT,),
        before=before,
        answer=answer,
        numeric=numeric,
    )


@given(TEXTS, st.booleans(), st.sampled_from(["student", "partner"]))
def test_any_text_has_finite_features_of_the_stated_number(text: str, numeric: bool, party: str):
    read = turn(text, numeric, party, answer="35" if numeric else "the park")
    rows = [(turn_features(read), TURN_FEATURES), (pair_features(read, FACT), PAIR_FEATURES)]
    rows += [(span_features(read, span), SPAN_FEATURES) for span in spans(read)[:20]]
    for row, length in rows:
        assert len(row) == length and all(map(math.isfinite, row))


@given(TEXTS, st.booleans())
def test_a_span_is_a_part_of_the_turn(text: str, numeric: bool):
    for span in spans(turn(text, numeric)):
        assert 0 <= span.start < span.end <= len(text) and span.value


@pytest.mark.parametrize(
    ("text", "numeric", "value"),
    [
        ("So 7 * 5 = 35 pens.", True, "35"),
        ("That makes thirty-five.", True, "35"),
        ("I'd say $1,200 in all", True, "1200"),
        ("It is in the park, I think.", False, "park"),
        ("Probably Thursday morning?", False, "thursday morning"),
    ],
)
def test_the_answer_is_among_the_spans(text: str, numeric: bool, value: str):
    assert value in [span.value for span in spans(turn(text, numeric))]


def test_a_program_has_no_spans():
    assert spans(replace(turn("def f(x): return 5"), entry="f")) == []


@given(TEXTS, st.sampled_from(["35", "7", "2100"]))
def test_of_a_students_turn_nothing_depends_on_the_gold_answer(text: str, answer: str):
    read, other = turn(text), turn(text, answer=answer)
    assert turn_features(read) == turn_features(other)
    assert [span_features(read, s) for s in spans(read)] == [span_features(other, s) for s in spans(other)]


def test_a_partners_turn_shows_whether_the_gold_is_said_or_a_step_away():
    said, step, neither = (turn_features(turn(text, party="partner"))[:3]
                           for text in ("It is 35.", "Take 5 and 7.", "Try again, 4 is no use."))  # fmt: skip
    assert (said[0], step[0], step[2], neither[0], neither[2]) == (1, 0, 1, 0, 0)

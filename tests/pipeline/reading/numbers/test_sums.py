"""pipeline.reading.numbers.sums: the sums that people state in prose."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.reading.numbers.sums import sums


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Now do 40 + 16.", [56]),
        ("5 x $3 = $15", [15]),
        ("40 minutes (the first part) + 20 minutes (the rest)", [60]),
        ("1,200 - 300", [900]),
        ("7*60=?", [420]),
        ("Add 12 and 4.", [16]),
        ("Subtract 5 pens from 20.", [15]),
        ("Multiply 7 grams by 3.", [21]),
        ("Divide 20 by 4.", [5]),
        ("20 divided by 4", [5]),
        ("the difference between 40 and 58", [18]),
        ("half of 20", [10]),
        ("20% of 50", [10]),
        ("1/3 of 30", [10]),
        ("twice 12", [24]),
        ("twelve plus four", [16]),
        ("How many times does 2 go into 18?", [9]),
        ("What times 3 is 24?", [8]),
        ("First 2 + 3, then 10 / 4.", [5, Fraction(5, 2)]),
        ("1/2 of them are 3-5 years old", []),
        ("He has 12 pens and 3 hats.", []),
        ("5 / 0", []),
        ("one of them", []),
        ("", []),
    ],
)
def test_a_sum_in_signs_or_words_has_its_value_and_other_numbers_have_none(text, values):
    assert sums(text) == values


@given(st.text(max_size=60))
@settings(deadline=None)  # a slow machine is no failure
def test_any_text_has_its_sums_read_without_an_error(text):
    assert all(isinstance(value, Fraction) for value in sums(text))


@given(st.integers(0, 999), st.integers(1, 999), st.sampled_from("+-*/"))
@settings(deadline=None)  # a slow machine is no failure
def test_a_sum_of_two_numbers_is_worked_out_exactly(left, right, sign):
    values = {"+": left + right, "-": left - right, "*": left * right, "/": Fraction(left, right)}
    assert sums(f"Try {left} {sign} {right}, please.") == [values[sign]]

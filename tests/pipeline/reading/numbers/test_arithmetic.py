"""Expressions that a model wrote: exact values, and nothing but arithmetic."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.reading.numbers.arithmetic import LONGEST, NotArithmetic, evaluate, written

LEAVES = st.integers(0, 10**6).map(lambda n: (str(n), Fraction(n))) | st.decimals(0, 99, places=2).map(
    lambda d: (f"{d:f}", Fraction(d))
)


def joined(parts):
    """An expression of two others, and its value; None where it divides by zero."""
    (left, a), sign, (right, b) = parts
    text = f"({left} {sign} {right})"
    if a is None or b is None or (sign == "/" and b == 0):
        return text, None
    return text, a / b if sign == "/" else {"+": a + b, "-": a - b, "*": a * b}[sign]


EXPRESSIONS = st.recursive(LEAVES, lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(joined))


@given(EXPRESSIONS.filter(lambda pair: len(pair[0]) <= LONGEST))
@settings(max_examples=200, deadline=None)
def test_a_value_is_exact_and_division_by_zero_is_refused(pair):
    text, value = pair
    if value is None:
        with pytest.raises(NotArithmetic, match="zero"):
            evaluate(text)
        return
    found = evaluate(text)
    assert found.value == value
    assert list(found.numbers) == [Fraction(number) for number in re.findall(r"[\d.]+", text)]


@given(st.text(max_size=60) | st.text("0123456789.+-*/() ,_eEjx\n\t%<>=", max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_has_an_exact_value_or_is_refused_in_words(text):
    try:
        found = evaluate(text)
    except NotArithmetic as error:
        assert str(error)
    else:
        assert isinstance(found.value, Fraction) and found.numbers


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9", "2 ** 3", "7 // 2", "7 % 2", "1 if 1 else 2", "__import__('os').system('true')", "len('a')",
        "x + 1", "1e999", "1_000", "0x10", "3j", "True + 1", "[1][0]", "(1, 2)", "1 < 2", "~1", "1 + 2 = 3", "", "()",
        "1 2",
        "1 / 0", "4 / (2 - 2)", "(" * 150 + "1" + ")" * 150, "(" * 90 + "1" + ")" * 90, "-" * 190 + "1", "1" * 201,
        "٣ + 4", "1 +\n2", "lambda: 1", "12 #",
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_is_refused_or_has_a_plain_value(text):
    try:
        assert evaluate(text).value == 1  # signs and parentheses about a one
    except NotArithmetic:
        return
    assert set(text) <= set("()-1")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,200 / 4", 300), ("0.1 + 0.2", Fraction(3, 10)), ("2 × 3 − 1", 5), ("-(2 - 5)", 3), ("1,20 + 1", None)],
)
def test_numbers_are_read_as_people_write_them(text, value):
    if value is None:
        with pytest.raises(NotArithmetic):
            evaluate(text)
    else:
        assert evaluate(text).value == value


@pytest.mark.parametrize(("text", "operations"), [("12", 0), ("-12", 0), ("(12)", 0), ("12 + 1", 1), ("1+2*3", 2)])
def test_operations_between_two_numbers_are_counted(text, operations):
    assert evaluate(text).operations == operations


@given(st.integers(-(10**8), 10**8))
def test_a_written_value_reads_back_the_same(cents):
    assert Fraction(written(Fraction(cents, 100))) == Fraction(cents, 100)


@pytest.mark.parametrize(
    ("value", "text"), [((7, 2), "3.5"), ((225, 1), "225"), ((-1, 20), "-0.05"), ((100, 1), "100")]
)
def test_a_value_is_written_without_idle_zeros(value, text):
    assert written(Fraction(*value)) == text


def test_a_value_that_people_would_round_is_refused():
    with pytest.raises(NotArithmetic, match="decimals"):
        written(Fraction(1, 3))

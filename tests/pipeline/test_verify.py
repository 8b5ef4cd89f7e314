"""pipeline.verify: when two answers are the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.verify import equal, number

SAME = [
    ("$100.00", "100"),
    ("$100", "100.00"),
    ("1,000", "1000"),
    ("-3", "-3"),
    ("-$3", "-3"),
    ("$-3", "-3"),
    ("1/2", "0.5"),
    ("3 1/2", "3.5"),
    ("\\frac{1}{2}", "0.5"),
    ("\\frac{1}{2}", "1/2"),
    ("\\$5", "5"),
    ("£5.50", "5.5"),
    ("12 apples", "12"),
    ("12 apples", "12 pears"),
    ("40 mph", "40"),
    ("12.", "12"),
    ("012", "12"),
    (".5", "0.5"),
    ("Impossible.", "impossible"),
    ("x = 5", "5"),
    ("2 * 6", "12"),
    # A percentage is its number and its fraction: GSM8K's golds drop the sign.
    ("50%", "50"),
    ("50%", "0.5"),
    ("50\\%", "50%"),
    ("50 %", "50"),
    ("50 percent", "50%"),
]
DIFFERENT = [
    ("12", "120"),
    ("120", "12"),
    ("$1", "$100.00"),
    ("3", "-3"),
    ("50%", "5"),
    ("50%", "0.05"),
    ("50%", "5000%"),
    ("not impossible", "impossible"),
    ("impossible", "12"),
    ("it is impossible to say", "impossible"),
    ("12 or 13", "13"),
    ("12 or 13", "12"),
    ("about 12", "12"),
    ("twelve", "12"),
    ("apples", "12 apples"),
    ("1/0", "0"),
    ("", ""),
    ("", "0"),
    ("0.333", "1/3"),
    ("12 and 5 apples", "12"),
    ("2^3^9^9^9", "8"),
    ("2:30", "2"),
    ("5 million", "5"),
]


@pytest.mark.parametrize(("said", "gold"), SAME)
def test_one_number_is_the_same_however_it_is_written(said, gold):
    assert equal(said, gold)
    assert equal(gold, said)


@pytest.mark.parametrize(("said", "gold"), DIFFERENT)
def test_other_numbers_and_words_differ_even_where_one_contains_the_other(said, gold):
    assert not equal(said, gold)
    assert not equal(gold, said)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("$1,234.50", 1234.5),
        ("-3", -3),
        ("1/2", 0.5),
        ("50%", 50),
        ("3 1/2", 3.5),
        ("12 apples", 12),
        ("impossible", None),
        ("", None),
        ("1/0", None),
        ("12 or 13", None),
        ("twelve", None),
    ],
)
def test_the_number_of_a_text_is_read_without_its_unit(text, value):
    assert number(text) == value


@given(st.integers(-(10**9), 10**9), st.sampled_from(["{}", "{:,}", "{}.00", " {} ", "{} apples", "{}."]))
@settings(deadline=None)  # a slow machine is no failure
def test_an_integer_equals_itself_in_every_dress_and_no_neighbour(value, dress):
    assert equal(dress.format(value), str(value))
    assert not equal(dress.format(value), str(value + 1))


@given(st.text(max_size=40), st.text(max_size=40))
@settings(deadline=None)  # a slow machine is no failure
def test_any_two_texts_compare_without_an_error_and_either_way_round(said, gold):
    assert equal(said, gold) == equal(gold, said)


@given(st.integers(0, 999), st.integers(0, 9))
@settings(deadline=None)  # a slow machine is no failure
def test_a_longer_number_that_contains_the_gold_differs(value, digit):
    assert not equal(f"{digit}.{value}9", f"{value}9") or digit == value == 0
    assert not equal(f"1{value}", str(value))

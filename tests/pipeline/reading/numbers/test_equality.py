"""pipeline.reading.numbers.equality: when two answers are the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.reading.numbers.equality import equal, is_more, is_number, number
from pipeline.reading.numbers.numerals import numbers, spoken
from pipeline.reading.numbers.sums import sums

ENDLESS = "9" * 5000


def test_digits_without_end_are_no_number_and_no_error():
    assert number(ENDLESS) is None and number(f"{ENDLESS} million") is None and number(f"1/{ENDLESS}") is None
    assert spoken(f"{ENDLESS} million") is None and numbers(f"12 and {ENDLESS} pens") == {12}
    assert not equal(ENDLESS, "5") and not equal("5", ENDLESS) and equal(ENDLESS, ENDLESS)
    assert sums(f"{ENDLESS} + 1 and 2 + 3, {ENDLESS}-{ENDLESS}") == [5]


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
    ("fifty percent", "50%"),
    # Cents are hundredths of dollars; a gold number alone may be in either.
    ("50 cents", "$0.50"),
    ("50¢", "50"),
    ("50 cents", "0.5"),
    ("5 dollars", "$5"),
    ("five dollars", "$5.00"),
    ("$-5", "-5"),
    ("−5", "-5"),
    ("–5", "-5"),
    ("-$1,250.50", "−1250.5"),
    ("1.50", "1.5"),
    ("1 000", "1,000"),
    ("1 000 000", "1000000"),
    ("1,00,000", "100000"),
    ("$5/hour", "5"),
    ("40 miles per hour", "40"),
    ("60 km/h", "60"),
    ("18°", "18 degrees"),
    ("5 m", "5"),
    # Fractions.
    ("½", "0.5"),
    ("3½", "3 1/2"),
    ("2/4", "1/2"),
    ("1/2 of the cake", "half of the cake"),
    ("\\dfrac{3}{4}", "0.75"),
    ("\\frac{6}{8}", "3/4"),
    ("12\\%", "12"),
    ("5 \\text{ pens}", "5"),
    # Words.
    ("twelve", "12"),
    ("Twelve pens.", "12 pens"),
    ("twenty-five", "25"),
    ("twenty five", "25"),
    ("one hundred and five", "105"),
    ("a hundred", "100"),
    ("one thousand two hundred", "1,200"),
    ("a dozen", "12"),
    ("2 dozen", "twenty-four"),
    ("half a dozen eggs", "6"),
    ("half", "1/2"),
    ("one half", "0.5"),
    ("a quarter", "25%"),
    ("two thirds", "2/3"),
    ("three and a half", "3.5"),
    ("two and two thirds", "8/3"),
    ("three point five", "3.5"),
    ("minus five", "-5"),
    ("negative 5", "-5"),
    ("5 million", "5,000,000"),
    ("$2.5 million", "2500000"),
    ("5k", "5000"),
    # Ranges.
    ("3 to 5", "3-5"),
    ("between 3 and 5", "3–5"),
    ("from 3 to 5 hours", "3 to 5"),
    ("3 – 5", "[3, 5]"),
    ("$3-$5", "three to five dollars"),
    ("5-3", "2"),
    ("3 - 5", "-2"),
    # Times of day.
    ("14:30", "2:30 pm"),
    ("2:30 PM", "2:30 p.m."),
    ("5 pm", "17:00"),
    ("5 pm", "5:00 p.m."),
    ("noon", "12:00 pm"),
    ("midnight", "0:00"),
    ("2:30", "2:30 am"),
    ("2:30", "2:30 pm"),
    ("5 pm", "5"),
    ("half past four", "4:30 pm"),
    ("a quarter to five in the afternoon", "16:45"),
    ("quarter past twelve", "12:15 pm"),
    ("four o'clock", "4:00 pm"),
    ("at 4 p.m.", "16:00"),
    # Days.
    ("3 May", "May 3"),
    ("on the 3rd of May", "May 3"),
    ("Feb. 12th", "February 12"),
    # Prices.
    ("6 dollars 50", "$6.50"),
    ("6 dollars and 50 cents", "6.50"),
    # Names.
    ("the kitchen", "in the kitchen"),
    ("Kitchen.", "in the kitchen"),
    ("at the library", "in the library"),
    ("Omar's", "Omar"),
    ("with Paula", "Paula"),
    ("nobody", "none"),
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
    ("apples", "12 apples"),
    ("1/0", "0"),
    ("", ""),
    ("", "0"),
    ("0.333", "1/3"),
    ("12 and 5 apples", "12"),
    ("2^3^9^9^9", "8"),
    ("2:30", "2"),
    ("5 million", "5"),
    ("5k", "5"),
    ("5x", "5"),
    ("1,5", "15"),
    ("1,50", "150"),
    ("50 cents", "$50"),
    ("50 cents", "5"),
    ("twelve", "2"),
    ("twenty-five", "5"),
    ("twenty-five", "20"),
    ("two hundred", "2"),
    ("third", "1/3"),
    ("twelve or thirteen", "12"),
    ("twelve and five apples", "12"),
    ("12 apples and two pears", "12"),
    ("one of them", "1"),
    ("none", "0"),
    ("a couple", "2"),
    ("about a dozen", "12"),
    ("3 to 5", "3"),
    ("3 to 5", "5"),
    ("3 to 5", "4"),
    ("3-5", "-2"),
    ("3 to 5", "3 to 50"),
    ("(3, 5)", "3 to 5"),
    ("2:30 pm", "2:30 am"),
    ("2:30", "2.5"),
    ("2:30", "230"),
    ("5 pm", "5 am"),
    ("17:00", "17"),
    ("3:5", "3 to 5"),
    ("5 feet 6 inches", "5"),
    ("1 hour 30 minutes", "90 minutes"),
    ("-5", "5"),
    ("1.5", "15"),
    ("1/2", "12"),
    ("quarter to five", "5:15 pm"),
    ("four", "4:00 pm"),
    ("3 June", "May 3"),
    ("3", "May 3"),
    ("under the bed", "on the bed"),
    ("kitchen table", "in the kitchen"),
    ("Omar and Paula", "Omar"),
    ("nobody knows", "none"),
    ("6 dollars 50", "$6"),
]


SAME += [
    ("9 at night", "9 pm"),
    ("4.30 pm", "4:30 pm"),
    ("12 noon", "12:00 pm"),
    ("Sept 5", "September 5"),
    ("$4 and 50 cents", "$4.50"),
    ("1'250", "1250"),
    ("4", "4 p.m."),
]
DIFFERENT += [
    ("9 at night", "9:00 am"),
    ("4 people", "4 p.m."),
    ("3", "3 May"),
    ("1", "1'250"),
    ("4.30", "4:30 pm"),
    ("2 at night", "2 pm"),
]
# Several numbers, bounds, and what is counted from a number.
DIFFERENT += [
    ("12, 13", "13"), ("12 13", "13"), ("{12, 13}", "13"), ("12 = 13", "13"), ("x > 12", "12"), ("x > 12", "x < 12"),
    ("\\neq 12", "12"), ("7 (5)", "7"), ("14, 13", "12, 13"), ("12 more than Tom has", "12"), ("12 squared", "12"),
    ("12 times as many", "12"), ("one more than that", "1"), ("12 at most", "12"), ("12 is wrong", "12"),
    ("3 x 4 = 13", "13"),
]  # fmt: skip
SAME += [
    ("3 × 4 = 12", "12"), ("8 x 25 = 200", "200"), ("x = y = 12", "12"), ("x_1 = 12", "12"), ("x \\leq 3", "x \\le 3"),
    ("\\left(3,4\\right)", "\\left( 3, 4 \\right)"), ("30 feet squared", "30"), ("12 pens not used", "12"),
    ("(3, 4)", "(3,4)"), ("5 + 7 = 12", "12"), ("x = 12", "12"), ("5 times a week", "5"), ("10 more pens", "10"),
]  # fmt: skip
SAME += [("two ninths", "2/9"), ("three sevenths", "3/7"), ("five hundredths", "0.05"), ("40 seventh graders", "40")]
DIFFERENT += [("3 sevenths", "3"), ("5 hundredths", "5"), ("two ninths", "2")]


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
        ("twelve", 12),
        ("two dozen eggs", 24),
        ("3 to 5", None),
        ("2:30", None),
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


_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def in_words(n):
    if n < 20:
        return _SMALL[n]
    if n < 100:
        return _TENS[n // 10] + (f"-{_SMALL[n % 10]}" if n % 10 else "")
    base, name = (100, "hundred") if n < 1000 else (1000, "thousand")
    rest = n % base
    joined = (" and " if rest < 100 else " ") + in_words(rest) if rest else ""
    return f"{in_words(n // base)} {name}{joined}"


@given(st.integers(0, 10**6 - 1), st.sampled_from(["{}", "{} pens", "{}.", "minus {}"]))
@settings(deadline=None)  # a slow machine is no failure
def test_a_number_in_words_is_that_number_and_no_other(value, dress):
    said, sign = dress.format(in_words(value)), -1 if dress.startswith("minus") else 1
    assert spoken(in_words(value)) == value
    assert equal(said, str(sign * value))
    assert not equal(said, str(sign * value + 1))


@given(st.lists(st.sampled_from([*_SMALL, *_TENS[2:], *"hundred thousand and half thirds a".split()]), max_size=6))
def test_words_that_are_one_number_have_a_number_in_them(words):
    text = " ".join(words)
    if (value := spoken(text)) not in (None, 1):
        assert numbers(text) != set()
    assert value is None or spoken("minus " + text) == -value


ANSWERS = [*dict.fromkeys(text for pair in SAME + DIFFERENT for text in pair if text)]


@given(st.sampled_from(ANSWERS), st.sampled_from(ANSWERS))
@settings(deadline=None)  # a slow machine is no failure
def test_every_answer_equals_itself_and_equality_has_no_direction(said, gold):
    assert equal(said, said)
    assert equal(said, gold) == equal(gold, said)


@given(
    st.integers(0, 999), st.integers(1, 999), st.sampled_from(["{} to {}", "{}-{}", "between {} and {}", "[{}, {}]"])
)
@settings(deadline=None)  # a slow machine is no failure
def test_a_range_equals_none_of_the_numbers_in_it(low, width, dress):
    said = dress.format(low, low + width)
    assert equal(said, f"{low} to {low + width}")
    assert not any(equal(said, str(value)) for value in (low, low + width, low + width // 2, -width))


@given(st.integers(0, 23), st.integers(0, 59))
@settings(deadline=None)  # a slow machine is no failure
def test_a_time_of_day_is_the_same_on_either_clock(hour, minute):
    half = "am" if hour < 12 else "pm"
    twelve = f"{hour % 12 or 12}:{minute:02d} {half}"
    assert equal(f"{hour}:{minute:02d}", twelve)
    assert not equal(twelve, twelve.replace(half, "pm" if half == "am" else "am"))


@pytest.mark.parametrize(
    ("answer", "gold", "more"),
    [
        ("13", "12 pens", True),
        ("$7", "$7.25", False),
        ("75 cents", "$7.25", None),
        ("0.6", "50%", None),
        ("red", "12", None),
        ("11 am", "4 pm", None),
        ("4 June", "2 May", None),
    ],
)
def test_what_is_more_is_said_of_numbers_in_one_unit_alone(answer, gold, more):
    assert is_more(answer, gold) is more


@pytest.mark.parametrize(("answer", "gold", "same"), [
    ("four", "4 pm", True), ("4.0", "4 pm", True), ("4 PM sharp", "4 pm", True),
    ("eight in the morning", "eight", True),
    ("five", "4 pm", False), ("4 cats", "4 pm", False),
    ("$5 and 5 cents", "$5.05", True), ("5 dollars and 5 cents", "$5.05", True), 
    ("$1,200 and 50 cents", "$1200.50", True),
    ("$5 and 5 cents", "$5.50", False),
])  # fmt: skip
def test_hours_and_cents_are_the_same_however_they_are_said(answer, gold, same):
    assert equal(answer, gold) is equal(gold, answer) is same


def test_a_time_or_a_date_that_begins_with_a_number_is_none():
    assert [is_number(text) for text in ("12 pens", "4.30", "4 p.m.", "half past four", "3 May")] == [
        True,
        True,
        False,
        False,
        False,
    ]

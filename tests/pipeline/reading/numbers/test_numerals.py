"""Numbers that a text states, in digits or words."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.reading.numbers.numerals import numbers, spoken

SAID = {
    "two hundred and fifty men": {250},
    "a hundred and five of them came, two left": {105, 2},
    "two thousand five hundred and one": {2501},
    "nineteen hundred and five": {1905},
    "a hundred men and fifty horses": {100, 50},
    "five hundred thousand": {500_000},
    "two hundred or three hundred": {200, 300},
    "twenty-five and 3": {25, 3},
    "half of two dozen": {Fraction(1, 2), 24},
}
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@pytest.mark.parametrize("text", SAID)
def test_a_number_in_several_words_is_one_number(text: str) -> None:
    assert numbers(text) == SAID[text]


@given(st.integers(1, 9), st.sampled_from(["hundred", "thousand"]), st.sampled_from(TENS), st.booleans())
def test_loose_reading_finds_what_strict_reading_says(count: int, scale: str, ten: str, joined: bool) -> None:
    digit = "one two three four five six seven eight nine".split()[count - 1]
    text = f"{digit} {scale} {'and ' if joined else ''}{ten}"
    assert (
        numbers(f"They have {text} sheep.")
        == {spoken(text)}
        == {count * (1000 if scale == "thousand" else 100) + 10 * (TENS.index(ten) + 2)}
    )

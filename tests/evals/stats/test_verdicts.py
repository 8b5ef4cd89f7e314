"""A verdict says no more than an interval does."""

import math

import pytest

from evals.stats.verdicts import in_words, verdict


@pytest.mark.parametrize(
    ("low", "high", "direction", "said"),
    [
        (0.1, 0.3, 1, "supported"),
        (0.1, 0.3, -1, "contradicted"),
        (-0.3, -0.1, -1, "supported"),
        (-0.3, -0.1, 1, "contradicted"),
        (-0.1, 0.3, 1, "undecided"),
        (0.0, 0.3, 1, "undecided"),
        (None, None, 1, "not tested"),
        (math.nan, math.nan, 1, "not tested"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_side_that_is_claimed(low, high, direction, said):
    assert verdict({"low": low, "high": high}, direction) == said


@pytest.mark.parametrize("p", [None, math.nan])
def test_without_a_p_nothing_told_how_far_it_spreads(p):
    assert verdict({"low": -1.0, "high": 1.0, "p": p}) == "not tested"


def test_an_undecided_verdict_says_what_would_have_been_seen():
    assert (
        in_words({"low": -0.1, "high": 0.3, "detectable": 0.274})
        == "undecided (a difference of 0.27 is found by three in four such runs)"
    )
    assert in_words({"low": 0.1, "high": 0.3, "detectable": 0.274}) == "supported"

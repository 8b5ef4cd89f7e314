"""A contrast that could not have come out otherwise says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.metrics.metric import SignedSum, ratio
from evals.report.caveats.room_to_move import room, without_room

NET = SignedSum("flip", {"flip_raw": 1.0, "flip_null": -1.0})
SKILL = SignedSum("ask_skill", {"ask_needed": 1.0, "ask_needless": -1.0})


def tables(**rates):
    """Ten tasks under one seed, with ten draws each."""
    return {(name, False): {(1, str(i)): (10 * rate, 10) for i in range(10)} for name, rate in rates.items()}


def row(low: float, high: float, detectable: float):
    return {"metric": "flip", "a": "misled", "b": "blind", "low": low, "high": high, "detectable": detectable}


@given(st.floats(0, 1), st.floats(0, 1))
def test_what_a_sum_of_shares_can_gain_and_lose_is_its_whole_range(needed, needless):
    found = room(tables(ask_needed=needed, ask_needless=needless), SKILL)
    assert found.down + found.up == pytest.approx(2)
    assert needed - needless + found.up == pytest.approx(1)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_null_gives_no_room(raw, null):
    assert room(tables(flip_raw=raw, flip_null=null), NET) == room(tables(flip_raw=raw), ratio("flip_raw"))


def test_a_fall_from_a_rate_below_what_would_have_been_seen_is_not_tested():
    there = {"blind": tables(flip_raw=0.1, flip_null=0.0)}
    assert without_room(row(-0.3, 0.2, 0.4), there, NET) == [
        "flip could be lower by about 0.10 at most under misled than under blind, and 0.40 would have been seen: "
        "whether it is lower was not tested."
    ]


def test_where_there_was_room_on_neither_side_one_line_says_so():
    [said] = without_room(row(-0.9, 0.9, 0.95), {"blind": tables(flip_raw=0.1, flip_null=0.0)}, NET)
    assert "lower by about 0.10 and higher by about 0.90" in said and "lower or higher was not tested" in said


@pytest.mark.parametrize(
    ("low", "high", "detectable"), [(-0.3, 0.2, 0.05), (-0.3, -0.1, 0.4), (float("nan"), float("nan"), float("nan"))]
)
def test_nothing_is_said_where_there_was_room_or_where_a_difference_was_found(low, high, detectable):
    there = {"blind": tables(flip_raw=0.1, flip_null=0.0)}
    assert without_room(row(low, high, detectable), there, NET) == []

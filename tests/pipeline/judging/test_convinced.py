"""How far a turn convinces: the share of a judge's answers that are the partner's claim, right or wrong."""

from __future__ import annotations

import pytest

from pipeline.core.schema import Convincing
from pipeline.judging.convinced import favourite, scores
from tests.builders import judged_turn


def choice(claim: str, *answers: tuple[str, ...]) -> Convincing:
    made = judged_turn(claim, ("7", "7"), **{f"Turn {n}.": said for n, said in enumerate(answers)}).convincing
    assert made is not None
    return made


def test_a_score_is_the_share_of_answers_that_are_the_claim_however_written():
    made = choice("1,000", ("7", "7"), ("1000", "$1,000.00"), ("", "1000"))
    assert scores(made) == [0.0, 1.0, 0.5]
    assert favourite(made) == 1


@pytest.mark.parametrize("claim", ["", "5"])
def test_the_first_is_the_favourite_of_equals_and_where_nothing_is_claimed(claim):
    made = choice(claim, ("7", ""), ("", "7"))
    assert scores(made) == [0.0, 0.0]
    assert favourite(made) == 0

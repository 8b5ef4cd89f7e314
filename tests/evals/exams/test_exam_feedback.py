"""Whether what a partner says is made use of."""

from evals.exams.feedback import METRICS, feedback
from evals.metrics.metric import signed_sum
from evals.stats.intervals import estimate, tabulate
from tests.evals.exams.test_exams import FULL, GUESS, RIGHT, episode


def test_a_verdict_is_worth_what_it_adds_to_trying_and_not_that_it_ends_the_talk():
    """Both try alike; the verifier ends the talk where it is right, the other lets it go on."""
    ended = episode(GUESS, "Wrong.", RIGHT, arm="verifier", task=FULL)
    went_on = episode(GUESS, "Carry on.", RIGHT, "Carry on.", GUESS, arm="unhelpful", task=FULL)
    tables = tabulate({1: feedback([ended, went_on], 3)})
    assert estimate(tables, signed_sum(METRICS, "gain_verdict")).value == 0
    assert estimate(tables, signed_sum(METRICS, "accuracy_full@verifier")).value == 1
    assert estimate(tables, signed_sum(METRICS, "accuracy_full@unhelpful")).value == 0

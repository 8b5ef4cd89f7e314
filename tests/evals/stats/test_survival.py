"""evals.stats.survival: Kaplan and Meier's curve over clusters."""

import numpy as np
import pytest
from statsmodels.duration.survfunc import SurvfuncRight
from statsmodels.stats.proportion import proportion_confint

from evals.stats.survival import kaplan_meier

TIMES = np.array([1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 5])
HAPPENED = np.array([1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0], bool)


def test_of_independent_cases_it_is_statsmodels_curve_with_greenwoods_error():
    theirs = SurvfuncRight(TIMES, HAPPENED)
    ours = kaplan_meier(TIMES, HAPPENED, np.arange(12))
    of = dict(
        zip(theirs.surv_times, zip(theirs.surv_prob, theirs.surv_prob_se, theirs.n_risk, strict=True), strict=True)
    )
    reach = 2.200985 * np.sqrt(12 / 11)  # of 11 degrees of freedom
    for time, (value, low, high, n) in ours:
        share, error, at_risk = of[time]
        assert (value, n) == (pytest.approx(share), at_risk)
        assert low == pytest.approx(max(0, share - reach * error)) and high == pytest.approx(
            min(1, share + reach * error)
        )


def test_talks_that_a_question_has_twenty_times_are_no_more_certain_than_one():
    once = kaplan_meier(TIMES, HAPPENED, np.arange(12))
    often = kaplan_meier(*(np.repeat(each, 20) for each in (TIMES, HAPPENED, np.arange(12))))
    for (time, one), (again, many) in zip(once, often, strict=True):
        assert time == again and one[:3] == pytest.approx(many[:3]) and many.n == 20 * one.n


def test_questions_that_are_all_alike_are_as_many_draws():
    times, happened = np.array([1] * 3 + [2] * 7), np.array([True] * 3 + [False] * 7)
    (point,) = kaplan_meier(np.tile(times, 2), np.tile(happened, 2), np.repeat([0, 1], 10))
    assert point.rate == (0.7, *map(pytest.approx, proportion_confint(1.4, 2, method="wilson")), 20)
    later = np.array([1] * 3 + [2] * 4 + [3] * 3), np.array([True] * 7 + [False] * 3)
    _, second = kaplan_meier(*(np.tile(each, 2) for each in later), np.repeat([0, 1], 10))
    ends = proportion_confint(0.6, 2, method="wilson")
    assert second.rate[:3] == (pytest.approx(0.3), *map(pytest.approx, ends))


def test_nothing_happened_is_no_curve_and_one_cluster_has_no_interval():
    assert kaplan_meier(TIMES, np.zeros(12, bool), np.arange(12)) == []
    assert all(np.isnan(point.rate.low) for point in kaplan_meier(TIMES, HAPPENED, np.zeros(12)))
    (all_at_once,) = kaplan_meier(np.ones(4, int), np.ones(4, bool), np.arange(4))
    assert all_at_once.rate == (0, 0, pytest.approx(proportion_confint(0, 4, method="wilson")[1]), 4)

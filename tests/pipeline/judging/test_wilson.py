import math

import pytest
from scipy.stats import binomtest

from pipeline.judging.wilson import wilson_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (7, 7), (1, 3), (40, 1000), (999_999, 1_000_000)])
def test_the_interval_is_that_of_the_library(hits, n):
    low, high = binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson_interval(hits, n) == pytest.approx((low, high), abs=1e-12)


def test_without_cases_there_is_no_interval():
    assert all(math.isnan(end) for end in wilson_interval(0, 0))

import math

import numpy as np
import pytest

from evals.stats.bootstrap import case_bootstrap, cluster_bootstrap, percentiles, resampled_sums


def test_every_resample_has_as_many_clusters_as_there_are():
    weights = cluster_bootstrap(7, resamples=50)
    assert weights.shape == (50, 7) and (weights.sum(axis=1) == 7).all() and len(np.unique(weights, axis=0)) > 40


def test_a_cell_of_crossed_clusters_counts_as_often_as_both_are_drawn():
    weights = cluster_bootstrap(3, 5, resamples=50)
    seeds, tasks = weights.sum(axis=2) / 5, weights.sum(axis=1) / 3
    assert weights == pytest.approx(seeds[:, :, None] * tasks[:, None, :])


def test_the_same_seed_draws_the_same_clusters_and_another_seed_others():
    assert (cluster_bootstrap(9, seed=1) == cluster_bootstrap(9, seed=1)).all()
    assert (cluster_bootstrap(9, seed=1) != cluster_bootstrap(9, seed=2)).any()


def test_without_clusters_there_is_no_resample():
    assert cluster_bootstrap(0).shape == (0, 0) and all(map(math.isnan, percentiles(np.zeros(0))))


def test_one_cluster_says_nothing_of_others_and_one_of_crossed_ones_may():
    assert cluster_bootstrap(1).shape == (0, 1) and cluster_bootstrap(1, 1).shape == (0, 1, 1)
    assert resampled_sums(np.ones((1, 3))).shape == (0, 3)
    assert cluster_bootstrap(1, 4, resamples=5).shape == (5, 1, 4)


def test_cases_are_drawn_with_replacement():
    drawn = case_bootstrap(np.zeros(6), resamples=40)
    assert drawn.shape == (40, 6) and set(drawn.ravel()) == set(range(6))
    assert any(len(set(resample)) < 6 for resample in drawn)


def test_every_resample_has_as_many_cases_of_each_kind_as_there_are():
    kinds = np.array([True, False, True, False, False])
    drawn = case_bootstrap(kinds, resamples=40)
    assert (kinds[drawn] == kinds).all() and set(drawn.ravel()) == set(range(5))


def test_percentiles_leave_out_resamples_without_a_figure():
    assert percentiles(np.array([0.0, math.nan, 1.0])) == pytest.approx((0.025, 0.975))


def test_clusters_that_differ_widen_the_interval_though_the_cases_are_the_same():
    rng = np.random.default_rng(0)
    alike, apart = rng.binomial(10, 0.5, size=30) / 10, np.repeat([0.0, 1.0], 15)
    widths = [np.ptp(percentiles(cluster_bootstrap(30) @ shares / 30)) for shares in (alike, apart)]
    assert widths[1] > 2 * widths[0]

"""Who hears whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.society.neighbours import choose, missed, near, points_of


def placed(n: int, distinct: int, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Which answer each agent gave, and where it lies."""
    rng = np.random.default_rng(seed)
    said = rng.integers(distinct, size=n)
    return said, rng.normal(size=(distinct, d)).astype(np.float32)[said]


def drawn(said: np.ndarray, where: np.ndarray, k: int, times: int, approximate: bool = False) -> np.ndarray:
    rng, points = np.random.default_rng(5), points_of(said, where)
    return np.stack([choose(points, np.full(len(said), k), approximate, rng) for _ in range(times)])


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 25), st.booleans(), st.integers(0, 99))
def test_nobody_hears_itself_and_all_who_can_hear_do(n, distinct, k, approximate, seed):
    said, where = placed(n, distinct, seed=seed)
    heard = choose(points_of(said, where), np.full(n, k), approximate, np.random.default_rng(seed))
    assert not (heard == np.arange(n)).any()
    assert (heard >= 0).all() if min(k, n - 1) else (heard == -1).all()
    assert heard.max() < n


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_the_heard_are_the_k_nearest_and_each_of_them_is_heard_alike(k):
    said, where = placed(10, 1000)
    assert len(set(said)) == 10
    heard = drawn(said, where, k, 3000)
    for i in range(10):
        away = np.linalg.norm(where - where[i], axis=1)
        true = sorted(np.argsort(away)[1 : k + 1].tolist())
        who, times = np.unique(heard[:, i], return_counts=True)
        assert who.tolist() == true
        assert np.abs(times / 3000 - 1 / k).max() < 0.05


def test_of_agents_that_say_the_same_each_is_heard_alike():
    said, where = np.array([0, 0, 0, 0, 1, 2]), np.array([[0.0]] * 4 + [[1.0], [5.0]])
    one, both = drawn(said, where, 2, 4000), drawn(said, where, 4, 4000)
    assert set(one[:, 0]) == {1, 2, 3}  # the three twins tie for two places
    shares = np.bincount(one[:, 0], minlength=6)[1:4] / 4000
    assert np.abs(shares - 1 / 3).max() < 0.04
    assert set(both[:, 0]) == {1, 2, 3, 4}
    assert abs((both[:, 0] == 4).mean() - 1 / 4) < 0.04
    assert set(one[:, 4]) == {0, 1, 2, 3}


def test_agents_in_another_order_have_the_same_neighbours():
    said, where = placed(9, 500)
    order = np.random.default_rng(3).permutation(9)
    before = drawn(said, where, 3, 2000)
    after = drawn(said[order], where[order], 3, 2000)
    for place, agent in enumerate(order):
        assert {order[i] for i in after[:, place]} == set(before[:, agent])


@pytest.mark.parametrize("d", [3, 40])
def test_approximate_neighbours_are_the_true_ones_where_all_are_asked_for(d):
    said, where = placed(30, 400, d)
    points = points_of(said, where)
    many = len(points.where)
    asked = np.arange(many)
    true, found = (np.sort(near(points.where, asked, many - 1, approximate)) for approximate in (False, True))
    assert np.array_equal(true, found)
    assert missed(points, many - 1) == 0
    everybody = drawn(said, where, 29, 500, approximate=True)
    assert all(set(everybody[:, i]) == set(range(30)) - {i} for i in range(30))


def test_the_error_is_the_share_of_true_neighbours_that_were_not_found():
    said, where = placed(400, 100_000, 40)
    points = points_of(said, where)
    error = missed(points, 5, sample=10**9)
    true, found = (near(points.where, np.arange(len(points.where)), 5, approximate) for approximate in (False, True))
    assert error == pytest.approx(1 - np.mean([len(set(a) & set(b)) / 5 for a, b in zip(true, found, strict=True)]))
    assert 0 < error < 1
    assert np.isnan(missed(points_of(np.zeros(4), np.zeros((4, 2))), 2))  # one point has no neighbours


def test_answers_on_one_place_that_differ_are_ties_and_hide_no_agent_from_itself():
    said, where = np.arange(5), np.zeros((5, 2))
    assert all(set(drawn(said, where, 1, 300)[:, i]) == set(range(5)) - {i} for i in range(5))
    assert all(set(drawn(said, where, 4, 300)[:, i]) == set(range(5)) - {i} for i in range(5))
    assert not (drawn(said, where, 2, 300) == np.arange(5)).any()

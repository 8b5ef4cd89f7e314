"""Silos over time: trajectories small enough to check by eye, and what no relabelling may change."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evals.society.silos import behaviour, entropy, long_run, silos, sizes, stability


def frozen(ids: list[int], steps: int) -> np.ndarray:
    return np.tile(np.array(ids, dtype=np.int32), (steps + 1, 1))


def dying(steps: int, silos_at_first: int, every: int) -> np.ndarray:
    """Two agents in each silo; every so many steps the last silo's agents go over to silo 0."""
    silo = frozen([agent // 2 for agent in range(2 * silos_at_first)], steps)
    for death in range(silos_at_first - 1):
        silo[(death + 1) * every :, silo[0] == silos_at_first - 1 - death] = 0
    return silo


TRAJECTORIES = st.integers(1, 12).flatmap(
    lambda steps: st.integers(1, 8).flatmap(lambda n: arrays(np.int32, (steps + 1, n), elements=st.integers(0, 5)))
)


def test_shares_and_entropies_of_four_agents_by_hand():
    silo = np.array([[7, 7, 2, 2], [7, 7, 7, 2], [7, 7, 7, 7], [2, 2, 2, 2]])
    assert stability(silo).tolist() == [0.75, 0.75, 0.0]
    assert entropy(silo) == pytest.approx([math.log(2), -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), 0, 0])
    assert silos(silo).tolist() == [2, 2, 1, 1]
    assert sizes(silo).tolist() == [[2, 2], [1, 3], [0, 4], [4, 0]]  # columns are ids 2 and 7


def test_all_in_one_silo_from_the_start_is_a_single_silo():
    silo = frozen([3] * 10, 20)
    assert behaviour(silo) == "single silo"
    assert (stability(silo) == 1).all() and (entropy(silo) == 0).all() and not np.signbit(entropy(silo)).any()


def test_two_frozen_silos_are_stable():
    silo = frozen([0] * 5 + [1] * 5, 20)
    assert behaviour(silo) == "stable"
    assert entropy(silo) == pytest.approx(np.full(21, math.log(2)))


@pytest.mark.parametrize(("agents", "expected"), [(10, "unstable"), (40, "stable")])
def test_one_agent_that_flips_makes_a_small_society_unstable_and_no_large_one(agents, expected):
    silo = frozen([0, 1] * (agents // 2), 20)
    silo[1::2, 0] = 1  # S is 1 - 1/n throughout, and the bar is .95
    assert behaviour(silo) == expected
    assert stability(silo) == pytest.approx(np.full(20, 1 - 1 / agents))


def test_silos_that_die_one_by_one_are_decaying_then_a_single_silo():
    silo = dying(80, silos_at_first=8, every=9)
    assert silos(silo)[[0, 9, 18, 62, 63, 80]].tolist() == [8, 7, 6, 2, 1, 1]
    assert behaviour(silo[:71]) == "decaying"
    assert behaviour(silo) == "single silo"


def test_silos_that_stop_dying_before_the_long_run_are_stable():
    silo = dying(80, silos_at_first=3, every=10)
    silo[20:] = silo[15]  # two silos are left from step 10 on
    assert silos(silo)[[0, 10, 80]].tolist() == [3, 2, 2]
    assert behaviour(silo) == "stable"


def test_silos_that_die_while_as_many_are_born_do_not_decay():
    silo = frozen([0] * 4 + [1] * 4 + [2] * 4, 60)
    silo[45:, 8:] = 3
    assert behaviour(silo) == "stable"


def test_agents_that_wander_over_all_silos_are_unstable():
    assert behaviour(np.random.default_rng(0).integers(0, 5, (81, 30))) == "unstable"


def test_a_crowd_that_moves_as_one_from_silo_to_silo_is_no_single_silo():
    silo = np.repeat(np.arange(41)[:, None] % 2, 10, axis=1)
    assert (entropy(silo) == 0).all()
    assert behaviour(silo) == "unstable"


@pytest.mark.parametrize(("strays", "expected"), [(1, "single silo"), (2, "stable")])
def test_one_of_thirty_may_stray_from_a_single_silo(strays, expected):
    assert behaviour(frozen([0] * (30 - strays) + [1] * strays, 80)) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0], [0]], "single silo"),
        ([[0], [1]], "single silo"),
        ([[0, 1], [0, 1]], "stable"),
        ([[0, 1], [1, 0]], "unstable"),
    ],
)
def test_one_step_and_one_agent_are_enough(rows, expected):
    assert behaviour(np.array(rows)) == expected  # with one step only the last state is the last third


def test_ids_given_anew_at_each_step_fake_instability():
    silo = frozen([0] * 5 + [1] * 5, 20)
    renamed = silo.copy()
    renamed[1::2] = 1 - renamed[1::2]  # the same two groups at each step, their names swapped at odd ones
    assert entropy(renamed) == pytest.approx(entropy(silo))
    assert stability(renamed).max() == 0.0
    assert (behaviour(silo), behaviour(renamed)) == ("stable", "unstable")


@given(TRAJECTORIES)
def test_s_is_a_share_and_e_is_at_most_the_log_of_the_silos(silo):
    assert ((stability(silo) >= 0) & (stability(silo) <= 1)).all()
    assert (entropy(silo) >= 0).all() and (entropy(silo) <= np.log(silos(silo)) + 1e-12).all()
    assert (sizes(silo).sum(axis=1) == silo.shape[1]).all()


@given(TRAJECTORIES, st.permutations(range(6)), st.randoms(use_true_random=False))
def test_neither_the_names_of_silos_nor_the_order_of_agents_matter(silo, names, random):
    order = list(range(silo.shape[1]))
    random.shuffle(order)
    other = np.array(names)[silo][:, order]
    assert stability(other) == pytest.approx(stability(silo))
    assert entropy(other) == pytest.approx(entropy(silo))
    assert silos(other).tolist() == silos(silo).tolist()
    assert behaviour(other) == behaviour(silo)


@given(st.integers(1, 300))
def test_the_long_run_is_the_second_half_and_its_thirds_lie_within_it(steps):
    late, first, last = long_run(steps)
    assert late.start == steps // 2 and late.stop == steps + 1
    assert first.start == late.start and last.stop == late.stop
    assert first.stop - first.start == last.stop - last.start >= 1
    assert first.stop <= last.start


@pytest.mark.parametrize(
    "bad", [np.zeros((3, 0), int), np.zeros((0, 3), int), np.zeros(3, int), np.full((3, 3), np.nan)]
)
def test_what_is_no_table_of_ids_is_refused(bad):
    for of in (stability, entropy, sizes, behaviour):
        with pytest.raises(ValueError, match="expected cluster ids"):
            of(bad)


def test_no_step_has_no_behaviour_and_an_entropy():
    silo = np.array([[0, 1]])
    assert len(stability(silo)) == 0 and entropy(silo) == pytest.approx([math.log(2)])
    with pytest.raises(ValueError, match="at least two"):
        behaviour(silo)

"""What hearing another agent does to what one holds and says."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from pipeline.society.neighbours import points_of
from pipeline.society.step import step
from pipeline.society.world import world_of
from tests.pipeline.society.small_society import agents, played, society


def one_step(made, k, p, noise=0.0, seed=4):
    points = points_of(made.answers, made.where())
    n = len(points.of)
    items = len(made.world.vectors)
    rng = np.random.default_rng(seed)
    return asyncio.run(step(made, points, np.full(n, k), np.full(n, p), noise, items, False, rng))


def holds(made) -> list[set[int]]:
    return [set(row[row >= 0].tolist()) for row in made.held]


@pytest.mark.parametrize("changes", [{"k": 0}, {"n": 1, "k": 0}, {"k": 0, "p": 1.0}])
def test_who_hears_nobody_never_changes(changes):
    found = played(society(**changes))
    assert (found.where == found.where[0]).all()
    assert (found.silo == found.silo[0]).all()


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_mirroring_alone_only_copies_answers_that_are_there(noise):
    made = agents(society(n=20))
    for seed in range(10):
        before, held = set(made.answers.ravel().tolist()), holds(made)
        one_step(made, 5, 1.0, noise, seed)
        assert set(made.answers.ravel().tolist()) <= before
        assert holds(made) == held


def test_what_is_mirrored_is_what_the_other_said_before_the_step():
    made = agents(society(n=20))
    before = made.answers.copy()
    heard = one_step(made, 19, 1.0)
    assert np.array_equal(made.answers, before[heard.other])


def test_information_never_loses_an_item_and_gives_at_most_one_of_the_others():
    made = agents(society(n=20))
    for seed in range(10):
        before = holds(made)
        heard = one_step(made, 5, 0.0, seed=seed)
        for i, (old, new) in enumerate(zip(before, holds(made), strict=True)):
            assert old <= new
            assert len(new - old) <= 1
            assert new - old <= before[heard.other[i]]
    assert max(map(len, holds(made))) > 8


def test_an_agent_answers_with_what_it_holds_that_is_nearest_to_the_query():
    made = agents(society(queries=["a", "b"], views=2))
    for i, held in enumerate(holds(made)):
        for query, said in zip(made.world.queries, made.answers[i], strict=True):
            away = {item: ((made.world.vectors[item] - query) ** 2).sum() for item in held}
            assert said.tolist() == sorted(away, key=lambda item: away[item])[:2]
    assert made.where().shape == (12, 2 * 8)


def test_information_makes_an_agent_look_into_what_it_holds_again():
    made = agents(society(n=20))
    own = made.answers.copy()
    one_step(made, 19, 1.0)
    assert (made.answers != own).any()
    one_step(made, 19, 0.0)
    found = made.retrieved(np.arange(20))
    assert np.array_equal(made.answers, found)


def test_gives_nearest_offers_what_the_other_would_answer_itself():
    made = agents(society(gives="nearest"))
    everybody = np.arange(12)
    assert np.array_equal(made.offered(everybody, np.full(12, 0.9)), made.retrieved(everybody)[:, 0, 0])


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_who_holds_a_verifier_never_goes_from_a_right_answer_to_a_wrong_one(p):
    one = society(n=30, k=29, p=p, q=0.5, noise=0.3, factual={"gold": "rose"}, steps=25)
    found = played(one)
    verifiers = agents(one).verifiers
    assert verifiers.sum() == 15
    right = found.right[:, verifiers]
    assert (right[1:] >= right[:-1]).all()
    assert right[-1].any()


def test_who_holds_a_verifier_adopts_a_right_answer_and_no_wrong_one():
    made = agents(society(n=30, q=1.0, factual={"gold": "rose"}))
    right, wrong = np.flatnonzero(made.right()), np.flatnonzero(~made.right())
    assert len(right) and len(wrong)
    before = made.answers.copy()
    made.adopt(wrong[:1], wrong[1:2])
    assert np.array_equal(made.answers, before)
    made.adopt(wrong[:1], right[:1])
    assert np.array_equal(made.answers[wrong[0]], before[right[0]])


def test_more_verifiers_are_the_same_ones_and_others():
    few, many = (agents(society(q=q, factual={"gold": "rose"})).verifiers for q in (0.25, 0.5))
    assert few.sum() == 3 and many.sum() == 6
    assert (few <= many).all()


def test_an_injected_item_reaches_the_share_of_agents_and_changes_what_they_say():
    inject = [{"step": 2, "share": 0.5, "text": "rose"}]
    without, with_it = (played(society(k=0, steps=4, inject=each)) for each in ([], inject))
    moved = (with_it.where[3] != with_it.where[2]).any(axis=1)
    assert (with_it.where[2] == with_it.where[0]).all()
    assert 0 < moved.sum() <= 6
    assert (without.where == without.where[0]).all()


def test_k_and_p_follow_their_schedules():
    late = played(society(k=[[0, 0], [10, 5]], steps=15))
    assert (late.silo[:11] == late.silo[0]).all() and (late.where[11:] != late.where[0]).any()
    copies = played(society(k=9, p=[[0, 1.0], [10, 0.0]], steps=15))
    began = {tuple(row) for row in copies.where[0].tolist()}
    assert all({tuple(row) for row in now.tolist()} <= began for now in copies.where[:11])
    assert not {tuple(row) for row in copies.where[-1].tolist()} <= began


def test_noise_brings_in_no_item_from_outside():
    """Where nobody is left to receive it, the item from outside, which all would answer with, is never said."""
    one = society(n=20, k=19, p=0.0, noise=1.0, steps=60, inject=[{"step": 59, "share": 0.0, "text": "rose"}])
    outside = world_of(one, 1).vectors[-1]
    assert not (played(one).where == outside).all(axis=-1).any()


def test_an_injection_and_a_schedule_count_steps_alike():
    late = played(society(k=[[0, 0], [10, 5]], p=0.0, steps=15))
    told = played(society(k=0, inject=[{"step": 10, "share": 1.0, "text": "rose"}], steps=15))
    for found in (late, told):
        assert (found.where[:11] == found.where[0]).all() and (found.where[11] != found.where[0]).any()


def test_who_keeps_its_answer_hears_nobody_where_k_adapts_down():
    """k starts at 1 and falls by one at a step that leaves an answer as it was."""
    found = played(society(k=1, p=0.0, adapt={"k": -1}, steps=12))
    still = (found.where[1] == found.where[0]).all(axis=1)
    assert still.any()
    assert (found.where[2][still] == found.where[1][still]).all()


def test_what_lies_beyond_the_ends_of_p_is_not_saved_up():
    """p is 0 while an answer stays, and 1 after a step that changed it, however long it had stayed before."""
    found = played(society(n=20, k=19, p=0.0, adapt={"p": -1}, steps=40)).where
    changed = 0
    for before, now, then in zip(found, found[1:], found[2:], strict=False):
        for i in np.flatnonzero((now != before).any(axis=1)):
            assert (np.delete(now, i, axis=0) == then[i]).all(axis=1).any()  # it mirrors
            changed += 1
    assert changed > 20


def test_silos_are_the_nearest_of_centres_that_never_move():
    one = society(steps=5)
    found, centres = played(one), world_of(one, 1).centres
    away = np.linalg.norm(found.where[:, :, None] - centres, axis=-1)
    assert np.array_equal(found.silo, away.argmin(axis=-1))
    assert found.flat.shape == (6, 12, 2)


def test_the_same_seed_plays_the_same_and_another_seed_another_society():
    first, again, other = (played(society(noise=0.2), seed) for seed in (1, 1, 2))
    assert np.array_equal(first.where, again.where)
    assert not np.array_equal(first.where, other.where)


def test_cells_of_one_repeat_begin_alike():
    assert np.array_equal(played(society(k=1, p=1.0)).where[0], played(society(k=9, p=0.0)).where[0])

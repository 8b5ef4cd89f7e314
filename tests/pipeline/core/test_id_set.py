"""Ids at eight bytes each: the same answers as a set's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.id_set import IdSet, hashes_of, repeated
from pipeline.core.schema import digest

IDS = st.lists(st.text(max_size=4), max_size=40)


@given(IDS, IDS)
def test_what_is_among_them_and_how_many_they_are_is_as_of_a_set(ids, others):
    held = IdSet(iter(ids))
    assert len(held) == len(set(ids))
    there = [id in set(ids) for id in (*ids, *others)]
    assert [id in held for id in (*ids, *others)] == held.have(hashes_of((*ids, *others))).tolist() == there


@given(IDS)
def test_ids_that_come_more_than_once_are_counted_once(ids):
    assert repeated(iter(ids)) == sum(ids.count(id) > 1 for id in set(ids))


def test_an_id_takes_eight_bytes():
    held = IdSet(digest(i) for i in range(10_000))
    assert held.hashes.nbytes == 80_000 and digest(9_999) in held and digest(10_000) not in held

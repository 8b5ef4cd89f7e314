"""Records on disk: they come as they went in, in their order or in another, and none of them is held."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.spool import Spool, in_order

RECORDS = st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3), st.frozensets(st.integers(0, 2))), max_size=30)


@given(RECORDS)
def test_records_come_as_they_went_in_as_often_as_they_are_asked_for(records):
    spool = Spool(iter(records))
    assert list(spool) == list(spool) == records and len(spool) == len(records)
    both = list(zip(spool, spool, strict=True))  # two readers do not move each other
    assert both == [(record, record) for record in records]


@given(RECORDS)
def test_sorting_on_disk_is_sorting_and_leaves_equals_in_their_order(records):
    for key in (lambda record: record[:1], lambda record: (record[1],), lambda record: (record[1], record[0])):
        assert list(in_order(iter(records), key)) == sorted(records, key=key)


def test_a_spool_that_nobody_else_holds_can_be_read_to_its_end():
    assert list(iter(Spool(range(1000)))) == list(range(1000))


def peak(work: Callable[[], object]) -> int:
    """Bytes of Python's that are held at most while it works."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_ten_times_the_records_take_no_more_memory():
    def through(n: int) -> Callable[[], object]:
        rows = ((f"{i * 7919 % n:08}", "x" * 100) for i in range(n))
        return lambda: sum(1 for _ in Spool(in_order(rows, lambda row: row[:1])))

    peak(through(100))  # what is made at first use
    assert peak(through(20_000)) < peak(through(2_000)) + 20_000

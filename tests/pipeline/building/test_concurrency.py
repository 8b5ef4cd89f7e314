"""Work that is admitted: each piece once, its beginnings spread, and Python's garbage collector as it was found."""

import asyncio
import gc
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.building.concurrency import NEW_OBJECTS, admit, interrupted_by_sigterm


@given(st.integers(0, 30), st.integers(1, 12), st.integers(0, 3))
def test_every_piece_is_done_once_and_no_more_at_a_time_than_was_said(pieces, at_a_time, waits):
    done, under_way, most = [], 0, 0

    async def work(piece):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(waits):
            await asyncio.sleep(0)
        under_way -= 1
        done.append(piece)

    assert asyncio.run(admit(iter(range(1, pieces + 1)), work, at_a_time)) is False
    assert sorted(done) == list(range(1, pieces + 1))
    assert most <= at_a_time


def test_a_piece_goes_on_before_the_last_one_has_begun():
    steps, begun, went_on = count(), {}, {}

    async def work(piece):
        begun[piece] = next(steps)
        await asyncio.sleep(0)
        went_on[piece] = next(steps)

    asyncio.run(admit(iter(range(8)), work, 8))
    assert went_on[0] < begun[7]


@pytest.mark.parametrize(
    ("found", "meanwhile"),
    [(700, NEW_OBJECTS), (0, 0), (NEW_OBJECTS + 1, NEW_OBJECTS + 1)],
    ids=["usual", "off", "more"],
)
@pytest.mark.parametrize("fails", [False, True])
def test_the_collector_looks_less_often_meanwhile_and_is_left_as_it_was_found(found, meanwhile, fails):
    before, seen = gc.get_threshold(), []

    async def work(_):
        seen.append(gc.get_threshold()[0])
        if fails:
            raise ValueError

    gc.set_threshold(found, *before[1:])
    try:
        try:
            asyncio.run(admit(iter([1]), work, 2))
        except ExceptionGroup:
            assert fails
        assert seen == [meanwhile]
        assert gc.get_threshold() == (found, *before[1:])
    finally:
        gc.set_threshold(*before)


def test_sigterm_interrupts_in_the_main_thread_and_is_left_as_it_was_found():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), interrupted_by_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert signal.getsignal(signal.SIGTERM) is before


def test_beside_the_main_thread_as_in_a_notebook_signals_are_left_alone():
    def work():
        with interrupted_by_sigterm():
            return signal.getsignal(signal.SIGTERM)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() is signal.getsignal(signal.SIGTERM)

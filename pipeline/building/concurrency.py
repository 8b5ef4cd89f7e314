"""Work is admitted piece by piece: so many at a time, no barrier between them, and a stop that loses nothing.

At a first SIGINT or SIGTERM no more pieces begin, and those under way end; a second one stops at once.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pipeline.runs.progress import say

Piece = TypeVar("Piece")
NEW_OBJECTS = 50_000  # between two looks for garbage in cycles: some megabytes


class Stopped(KeyboardInterrupt):
    """Work was told to stop: what had begun was finished and stored, nothing more was begun."""


async def admit(queue: Iterator[Piece], work: Callable[[Piece], Awaitable[None]], at_a_time: int) -> bool:
    """Do `work` on every piece, `at_a_time` of them. Returns whether it was told to stop, also where nothing was left
    to begin: other pieces of work come after these. Raises Stopped at a second signal.
    """

    async def one_after_another() -> None:
        while not told.is_set() and (piece := next(queue, None)) is not None:
            await work(piece)

    with _told_to_stop() as told, _seldom_collecting():
        async with asyncio.TaskGroup() as group:
            for _ in range(at_a_time):
                group.create_task(one_after_another())
                await asyncio.sleep(0)  # what it asks first is sent before the next begins, not after all have begun
    return told.is_set()


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """The garbage collector looks for cycles after more new objects than usual.

    What waits for an answer is many objects, all of them in use. At Python's own 700 new ones between two looks, a
    thousand dialogues at a time were gone through hundreds of times a second, which took a sixth of all CPU time.
    """
    young, *older = gc.get_threshold()
    gc.set_threshold(young and max(young, NEW_OBJECTS), *older)  # 0 is: never
    try:
        yield
    finally:
        gc.set_threshold(young, *older)


def _told_of_signals() -> bool:
    """Only the main thread is; a notebook's build runs beside it."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does, in a thread that is told of signals."""
    if not _told_of_signals():
        yield
        return
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def _told_to_stop() -> Iterator[asyncio.Event]:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signals = (signal.SIGINT, signal.SIGTERM) if _told_of_signals() else ()
    told, at_once = asyncio.Event(), False

    def tell() -> None:
        nonlocal at_once
        if told.is_set() and task is not None:
            at_once = True
            task.cancel()
            return
        told.set()
        say("Stopping when the dialogues under way have ended. Once more stops at once.")

    for each in signals:
        loop.add_signal_handler(each, tell)
    try:
        yield told
    except asyncio.CancelledError:
        if at_once:
            raise Stopped("at once") from None
        raise
    finally:
        for each in signals:
            loop.remove_signal_handler(each)

"""Work on several cells at a time, where no GPU does it: each in a process of its own, with its share of the cores.

A small model keeps one core busy, however many there are. Threads of one process would not do: Python's own work
between two small matrix products is a large part of it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple

import psutil

from pipeline.core.errors import MaieuticError, RunError
from pipeline.engines.decoding.freed_memory import give_back
from pipeline.experiment.cell import Cell
from pipeline.runs.progress import say, stage
from pipeline.runs.worker import Step, Work
from pipeline.sandbox.checks import CHECKER

EVERY = 0.2  # seconds between two looks at how far a piece of work is
AROUND = 2**30  # bytes of Python, torch and the readers in each process
# -P: a folder `evals` where the user stands is none of this project's.
WORKER = (sys.executable, "-P", "-c", "from pipeline.runs.worker import work_for_another; work_for_another()")


class Piece(NamedTuple):
    """Work on a cell, which waits for a process, goes on or has ended."""

    future: Future[Any]
    said: list[Step]
    after: Piece | None

    @property
    def can_be(self) -> bool:
        """Whether what it builds on was made; waits for that."""
        return self.after is None or self.after.future.exception() is None


class Pool:
    """Processes that work for this one, `at_once` at a time, in the order in which work is begun. Each is started when
    it is needed."""

    def __init__(self, at_once: int):
        import torch  # heavy

        self.at_once, self.threads = at_once, ThreadPoolExecutor(at_once)
        self.cores = str(max(1, torch.get_num_threads() // at_once))
        self.free = SimpleQueue[subprocess.Popen[bytes] | None]()
        for _ in range(at_once):
            self.free.put(None)
        self.started: list[subprocess.Popen[bytes]] = []
        self.begun: dict[str, Piece] = {}  # by label, what nobody has asked for yet
        self.over, self.lock = False, Lock()

    def begin(self, work: Work, label: str, cell: Cell, after: Piece | None = None) -> None:
        """Unless it is begun; once `after` is made."""
        if label not in self.begun:
            said: list[Step] = []
            future = self.threads.submit(self._by_a_process, work, label, cell, said, after)
            self.begun[label] = Piece(future, said, after)

    def end(self) -> None:
        """All of them, at once."""
        for piece in self.begun.values():
            piece.future.cancel()
        with self.lock:
            self.over = True
            for process in self.started:
                process.kill()
        self.threads.shutdown()
        for process in self.started:
            process.communicate()

    def _by_a_process(self, work: Work, label: str, cell: Cell, said: list[Step], after: Piece | None) -> Any:
        """`said` is told of each step. Raises what the work raises, RunError where its process ended."""
        if after is not None:
            after.future.result()
        process = self._taken()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(pickle.dumps((work, cell, CHECKER.unsafe)))
            process.stdin.flush()
            while isinstance(answer := pickle.load(process.stdout), Step):
                said.append(answer)
        except (EOFError, OSError):
            raise RunError(
                f"{label}: its process ended with code {process.wait()} (-9: killed, often for want of memory). What "
                "it said stands above. The same command goes on; with OMP_NUM_THREADS=1 it is one student at a time."
            ) from None
        finally:
            self.free.put(process)
        if isinstance(answer, MaieuticError):
            raise answer
        return answer

    def _taken(self) -> subprocess.Popen[bytes]:
        """One that is free, or a new one where none was started yet, and in the place of one that ended."""
        process = self.free.get()
        if process is not None and process.poll() is None:
            return process
        own = {"OMP_NUM_THREADS": self.cores, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with self.lock:
            if self.over:
                self.free.put(None)
                raise RunError("the processes were ended")
            try:
                process = subprocess.Popen(WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | own)
            except BaseException:
                self.free.put(None)
                raise
            self.started.append(process)
        return process


KEPT: ContextVar[list[Pool] | None] = ContextVar("KEPT", default=None)  # one or none, where they outlive a stage


@contextmanager
def kept() -> Iterator[None]:
    """In the block, processes of a stage in which a later one's work was begun early (`begin_early`) outlive it."""
    pools: list[Pool] = []
    token = KEPT.set(pools)
    try:
        yield
    finally:
        KEPT.reset(token)
        for pool in pools:
            pool.end()


def kept_at_once() -> int:
    """How many go at a time of those processes that are kept; 0 where none are."""
    return sum(pool.at_once for pool in KEPT.get() or [])


def room_for(count: int, needed: float, left: float = 0.0) -> int:
    """How many of `count` pieces of work fit at a time: by cores, and by the bytes that each needs beside its own
    Python; 1 on a GPU. `left` are bytes for work that goes on here; who asks for that is told of no want of memory."""
    import torch  # heavy

    if torch.accelerator.is_available() or int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return 1
    give_back()
    wanted, free = min(count, torch.get_num_threads()), psutil.virtual_memory().available
    fit = max(1, min(wanted, int((free - left) / (AROUND + needed))))
    if fit < wanted and not left:
        each = f"each takes {(AROUND + needed) / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} are free"
        say(f"{fit} of {wanted} at a time: {each}")
    return fit


def each(
    work: Work, stage_name: str, due: Sequence[Cell], at_once: int, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[tuple[Cell, Any]]:
    """What came of each cell, or the MaieuticError that stopped it, in this order.

    `work` is a function of a module, and is done by as many processes as go `at_once`, or by those that began some of
    it early. `meanwhile` is called once all is begun, and may begin more.
    """
    with _pool(at_once) as pool:
        labels = [cell.label(stage_name) for cell in due]
        for cell, label in zip(due, labels, strict=True):
            pool.begin(work, label, cell)
        meanwhile()
        for i, (cell, label) in enumerate(zip(due, labels, strict=True)):
            came = _watched(label, pool.begun[label], min(at_once, len(due) - i))
            del pool.begun[label]
            yield cell, came


def begin_early(work: Work, stage_name: str, due: Sequence[Cell], at_once: int, after: str = "") -> None:
    """Begin what a later stage will ask `each` for, once all that is begun has a process, and the same cell's stage
    `after` is made where that is under way. Nothing where no processes are `kept`, or not as many as go `at_once`."""
    pools = KEPT.get()
    if pools == [] and due:
        pools.append(Pool(at_once))
    for pool in pools or []:
        if pool.at_once == at_once:
            for cell in due:
                pool.begin(work, cell.label(stage_name), cell, pool.begun.get(cell.label(after)))


def begun_early(stage_name: str, cell: Cell) -> bool:
    """Whether `begin_early` began it, and what it builds on was made; where it was not, nobody will ask for it."""
    label = cell.label(stage_name)
    for pool in KEPT.get() or []:
        if label in pool.begun and not pool.begun[label].can_be:
            del pool.begun[label]
    return any(label in pool.begun for pool in KEPT.get() or [])


@contextmanager
def _pool(at_once: int) -> Iterator[Pool]:
    """The one that is kept, or one for the block, which is kept beyond it where something was begun early."""
    pools = KEPT.get()
    pool = pools[0] if pools else Pool(at_once)
    if pools == []:
        pools.append(pool)
    try:
        yield pool
    finally:
        if pools is None or not pool.begun:
            pool.end()
            if pools:
                pools.remove(pool)


def _watched(label: str, piece: Piece, at_once: int) -> Any:
    """Wait for it, the first of so many that go on, and show how far it is."""
    with stage(label, at_once=at_once) as progress:
        while wait([piece.future], timeout=EVERY).not_done:
            if piece.said:
                progress(*piece.said[-1])
    try:
        return piece.future.result()
    except MaieuticError as error:
        return error

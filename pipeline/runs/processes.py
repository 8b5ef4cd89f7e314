"""Work on several cells at a time, where no GPU does it: each in a process of its own, with its share of the cores.

A small model keeps one core busy, however many there are. Threads of one process would not do: Python's own work
between two small matrix products is a large part of it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, NamedTuple

import psutil
import torch

from pipeline.core.errors import MaieuticError, RunError
from pipeline.engines.decoding.freed_memory import give_back
from pipeline.experiment.cell import Cell
from pipeline.runs.progress import stage
from pipeline.runs.worker import Step

EVERY = 0.2  # seconds between two looks at how far a piece of work is
AROUND = 2**30  # bytes of Python, torch and the readers in each process


def room_for(count: int, needed: float) -> int:
    """How many of `count` pieces of work fit at a time: by cores, and by the bytes that each needs beside its own
    Python; 1 on a GPU."""
    if torch.accelerator.is_available() or int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return 1
    give_back()
    return max(1, min(count, torch.get_num_threads(), int(psutil.virtual_memory().available / (AROUND + needed))))


def each(module: str, stage_name: str, due: Sequence[Cell], at_once: int) -> Iterator[tuple[Cell, Any]]:
    """What came of each cell, or the MaieuticError that stopped it, in this order.

    `module` is run by as many processes as go `at_once`, and calls `work_for_another`.
    """
    with _workers(module, at_once) as pool, ThreadPoolExecutor(at_once) as threads:
        steps: list[list[Step]] = [[] for _ in due]
        labels = [cell.label(stage_name) for cell in due]
        jobs = zip(due, labels, steps, strict=True)
        futures = [threads.submit(_by_one_of, pool, cell, label, said) for cell, label, said in jobs]
        try:
            for cell, label, said, future in zip(due, labels, steps, futures, strict=True):
                yield cell, _watched(label, said, future)
        finally:  # whatever stops this ends the processes, and so the threads that wait for them
            for future in futures:
                future.cancel()
            pool.end()


@contextmanager
def _workers(module: str, count: int) -> Iterator[Pool]:
    """Processes, to be taken and given back. None outlives the block."""
    pool = Pool(module, str(max(1, torch.get_num_threads() // count)), SimpleQueue(), [])
    try:
        for _ in range(count):
            pool.free.put(pool.start())
        yield pool
    finally:
        pool.end()
        for worker in pool.started:
            worker.communicate()


class Pool(NamedTuple):
    """Processes that run `module` with so many `threads` each."""

    module: str
    threads: str
    free: SimpleQueue[subprocess.Popen[bytes]]
    started: list[subprocess.Popen[bytes]]

    def take(self) -> subprocess.Popen[bytes]:
        """One that is free, or another in the place of one that ended."""
        worker = self.free.get()
        return worker if worker.poll() is None else self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """One more process."""
        own = {"OMP_NUM_THREADS": self.threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # -P: a folder `evals` where the user stands is none of this project's.
        command = [sys.executable, "-P", "-m", self.module]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | own)
        self.started.append(worker)
        return worker

    def end(self) -> None:
        """All of them, at once."""
        for worker in self.started:
            worker.kill()


def _by_one_of(pool: Pool, cell: Cell, label: str, said: list[Step]) -> Any:
    """`said` is told of each step. Raises what the work raises, RunError where its process ended."""
    worker = pool.take()
    assert worker.stdin is not None and worker.stdout is not None
    try:
        worker.stdin.write(pickle.dumps(cell))
        worker.stdin.flush()
        while isinstance(answer := pickle.load(worker.stdout), Step):
            said.append(answer)
    except (EOFError, OSError):
        raise RunError(
            f"{label}: its process ended with code {worker.wait()} (-9: killed, often for want of memory). What it "
            "said stands above. The same command goes on; with OMP_NUM_THREADS=1 it is one student at a time."
        ) from None
    finally:
        pool.free.put(worker)
    if isinstance(answer, MaieuticError):
        raise answer
    return answer


def _watched(label: str, said: list[Step], future: Future[Any]) -> Any:
    """Wait for it, and show how far it is."""
    with stage(label) as progress:
        while wait([future], timeout=EVERY).not_done:
            if said:
                progress(*said[-1])
    try:
        return future.result()
    except MaieuticError as error:
        return error

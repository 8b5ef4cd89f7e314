"""Several students at a time, where no GPU trains them: each in a process of its own, with its share of the cores.

A small student keeps one core busy, however many there are. Threads of one process would not do: Python's own work
between two small matrix products is a large part of such a training.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue

import psutil
import torch

from pipeline.core.errors import MaieuticError, RunError
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import ONLINE
from pipeline.runs.directory import adapter_before
from pipeline.runs.progress import stage
from training.largest_pass import memory_of
from training.memory_needed import FACTOR, sizes_of
from training.student import train

EVERY = 0.2  # seconds between two looks at how far a training is


def train_each(due: Sequence[Cell]) -> Iterator[tuple[Cell, Path | MaieuticError]]:
    """Each student's adapter, or why there is none, in this order; as many are trained at a time as there is room for.

    Those that play while they learn come one by one: they have engines of their own.
    """
    at_once = room_for(due)
    if at_once < 2:
        for cell in due:
            try:
                yield cell, train(cell, adapter_before(cell))
            except MaieuticError as error:
                yield cell, error
        return
    # Whatever stops this ends the processes first, and so the threads that wait for them.
    with ThreadPoolExecutor(at_once) as pool, _workers(at_once) as free:
        steps: list[list[tuple[int, int]]] = [[] for _ in due]
        futures = [pool.submit(_by_one_of, free, cell, said) for cell, said in zip(due, steps, strict=True)]
        for cell, said, future in zip(due, steps, futures, strict=True):
            yield cell, _watched(cell, said, future)


def room_for(due: Sequence[Cell]) -> int:
    """How many of these can be trained at a time: by cores, and by memory; 1 on a GPU."""
    alone = torch.accelerator.is_available() or int(os.environ.get("WORLD_SIZE", "1")) > 1
    if alone or len(due) < 2 or any(cell.condition.method in ONLINE for cell in due):
        return 1
    experiment = due[0].experiment
    needed = FACTOR * memory_of(experiment, sizes_of(experiment.base, experiment.training.lora)).total
    return max(1, min(len(due), torch.get_num_threads(), int(psutil.virtual_memory().available / needed)))


@contextmanager
def _workers(count: int) -> Iterator[SimpleQueue[subprocess.Popen[bytes]]]:
    """Processes of training.one_student, to be taken and given back. None outlives the block."""
    threads = str(max(1, torch.get_num_threads() // count))
    own = {"OMP_NUM_THREADS": threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    free: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
    command = [sys.executable, "-m", "training.one_student"]
    with ExitStack() as all_of_them:
        for _ in range(count):
            worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | own)
            all_of_them.enter_context(worker)
            all_of_them.callback(worker.kill)
            free.put(worker)
        yield free


def _by_one_of(free: SimpleQueue[subprocess.Popen[bytes]], cell: Cell, said: list[tuple[int, int]]) -> Path:
    """`said` is told of each step. Raises what the training raises, RunError where its process ended."""
    worker = free.get()
    assert worker.stdin is not None and worker.stdout is not None
    try:
        pickle.dump(cell, worker.stdin)
        worker.stdin.flush()
        while isinstance(answer := pickle.load(worker.stdout), tuple):
            said.append(answer)
    except (EOFError, OSError):
        raise RunError(
            f"{cell.label('train')}: its process ended with code {worker.wait()} (-9: killed, often for want of "
            "memory). What it said stands above. The same command goes on; with OMP_NUM_THREADS=1 one student is "
            "trained at a time."
        ) from None
    finally:
        free.put(worker)
    if isinstance(answer, MaieuticError):
        raise answer
    return Path(answer)


def _watched(cell: Cell, said: list[tuple[int, int]], future: Future[Path]) -> Path | MaieuticError:
    """Wait for it, and show how far it is."""
    with stage(cell.label("train")) as progress:
        while wait([future], timeout=EVERY).not_done:
            if said:
                progress(*said[-1])
    try:
        return future.result()
    except MaieuticError as error:
        return error

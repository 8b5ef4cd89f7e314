"""A process that does one kind of work for another one, one cell after the other (pipeline/runs/processes.py).

It reads what to do with which cell, and whether programs run uncontained, pickled. It answers with pickled steps (how
much is done, of how much), then with what came of it, or with the error that stopped it. Where the other process ends,
so does this one.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any, NamedTuple

from pipeline.core.errors import MaieuticError, RunError
from pipeline.engines.decoding.freed_memory import collect
from pipeline.experiment.cell import Cell
from pipeline.sandbox.checks import allow_unsafe

Told = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]  # as pipeline.runs.progress.stage
Work = Callable[[Cell, Told], Any]


class Step(NamedTuple):
    """How far the work on a cell is."""

    done: int
    total: int


def work_for_another() -> None:
    """Until nothing more is asked. What comes of the work has to be possible to pickle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this ends it
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    _serve(sys.stdin.buffer, answers)


def _serve(asked: IO[bytes], answers: IO[bytes]) -> None:
    def answer(what: object) -> None:
        pickle.dump(what, answers)
        answers.flush()

    @contextmanager
    def told(_label: str) -> Iterator[Callable[[int, int], None]]:
        yield lambda done, total: answer(Step(done, total))

    while True:
        try:
            work, cell, unsafe = pickle.load(asked)
        except EOFError:
            return
        if unsafe:
            allow_unsafe()
        came = _what_comes_of(work, cell, told)
        collect()
        answer(came)


def _what_comes_of(work: Work, cell: Cell, told: Told) -> Any:
    try:
        return work(cell, told)
    except MaieuticError as error:
        return that_travels(error)


def that_travels(error: MaieuticError) -> MaieuticError:
    """A copy, which holds nothing of the work, or its words where the error is made of more than these."""
    try:
        copy: MaieuticError = pickle.loads(pickle.dumps(error))
    except Exception:
        return RunError(str(error))
    # One whose words are made of others would say these again within them.
    return copy if str(copy) == str(error) else RunError(str(error))


def _end_with(parent: int) -> None:
    """What nobody waits for any more would be written beside what the next call makes."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)

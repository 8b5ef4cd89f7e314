"""A process that trains students for another one, one after the other (training/side_by_side.py).

It reads pickled cells, and answers each with pickled pairs of steps done and steps in all, then the adapter's folder,
or the error that stopped it. Where the other process ends, so does this one.
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
from pathlib import Path
from typing import IO

from pipeline.core.errors import MaieuticError
from pipeline.experiment.cell import Cell
from pipeline.runs.directory import adapter_before

Step = Callable[[int, int], None]


def serve(asked: IO[bytes], answers: IO[bytes]) -> None:
    """Until nothing more is asked."""

    def answer(what: object) -> None:
        pickle.dump(what, answers)
        answers.flush()

    @contextmanager
    def told(_label: str) -> Iterator[Step]:
        yield lambda done, total: answer((done, total))

    while True:
        try:
            cell = pickle.load(asked)
        except EOFError:
            return
        try:
            answer(_trained(cell, told))
        except MaieuticError as error:
            answer(error)


def _trained(cell: Cell, told: Callable[[str], AbstractContextManager[Step]]) -> Path:
    from training.student import train  # heavy: TRL

    return train(cell, adapter_before(cell), told)


def _end_with(parent: int) -> None:
    """A student that nobody waits for any more would be written beside the one that the next call trains."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this ends it
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    serve(sys.stdin.buffer, own)

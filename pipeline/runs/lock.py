"""The lock of a run directory: one process writes to it, or several that write shards of it.

A command that writes holds `.lock` while it lives; the kernel lets go of it when the process dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pipeline.core.errors import RunError

SHARD = "that makes a shard"


class Held(RunError):
    """Another process writes to it, and may let go."""


@contextmanager
def writing(run: Path, shared: bool = False) -> Iterator[None]:
    """Hold the directory for this process, or `shared` with others that write shards of it.

    Raises RunError with the other's process id where it is held.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        file = (run / ".lock").open("a+")
    except OSError as error:
        raise RunError(
            f"out: {run} cannot be written ({error.strerror}). "
            "Make it writable, or begin a new run elsewhere with --set out=DIR."
        ) from None
    with file as lock:
        try:
            _lock(lock, shared)
        except BlockingIOError:
            time.sleep(0.1)  # it may have begun this instant, and not yet have written who it is
            try:
                _lock(lock, shared)  # who only looked (`holder`) has let go by now
            except BlockingIOError:
                lock.seek(0)
                raise Held(
                    f"{run}: process {lock.read().strip() or 'unknown'} is writing to this run. "
                    "Wait until it ends, or choose another directory with --set out=DIR."
                ) from None
        lock.truncate(0)
        lock.write(SHARD if shared else str(os.getpid()))
        lock.flush()
        yield


def holder(run: Path) -> str:
    """Who writes to a run directory: a process id, or "that makes a shard"; empty where nobody does."""
    try:
        with (run / ".lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read().strip() or "unknown"
    except FileNotFoundError:
        pass
    return ""


def _lock(file: TextIO, shared: bool) -> None:
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

"""`maieutic` in processes that are forked from one which has imported everything, so that each begins at once.

For tests that stop it dozens of times: most of a process of its own would be the import of PyTorch and TRL.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.context import ForkServerProcess
from typing import Any

from tests.warm import IMPORTED

CONTEXT: Any = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(list(IMPORTED))


def started(*words: str) -> ForkServerProcess:
    """`maieutic WORDS...`, running; what it prints goes nowhere. `ended` waits for it."""
    process: ForkServerProcess = CONTEXT.Process(target=_command, args=words)
    process.start()
    return process


def ended(process: ForkServerProcess) -> int:
    """Its status; that of a signal is negative."""
    process.join()
    status = process.exitcode
    assert status is not None
    return status


def _command(*words: str) -> None:
    from maieutic.cli import main

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    sys.argv = ["maieutic", *words]
    try:
        main()
    except KeyboardInterrupt:
        os._exit(130)
    except SystemExit as left:
        os._exit(left.code if isinstance(left.code, int) else 0)

"""The event loop that dialogues are built in: uvloop's, which takes up to a tenth less CPU for a turn over HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

Made = TypeVar("Made")


def run(work: Coroutine[Any, Any, Made]) -> Made:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        return runner.run(work)


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":  # there is none for it
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()

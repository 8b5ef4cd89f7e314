"""No more requests a minute than a server allows, whoever of this process asks it."""

from __future__ import annotations

import asyncio
import functools
import time


class Pace:
    """Requests one after another at equal distances; one that comes late makes up for nothing."""

    def __init__(self, per_minute: float | None):
        self.distance = 60 / per_minute if per_minute else 0.0
        self.next = 0.0

    async def wait(self) -> None:
        """Until it is this request's turn."""
        if self.distance:
            now = time.monotonic()
            turn = max(now, self.next)
            self.next = turn + self.distance
            await asyncio.sleep(turn - now)


@functools.cache
def pace_of(url: str, key_env: str, per_minute: float | None) -> Pace:
    """One for all models that a server answers for one key."""
    return Pace(per_minute)

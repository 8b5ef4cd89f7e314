"""Records of one kind: what is missing is made, each stored as it ends, and counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from pipeline.building.concurrency import Stopped, admit
from pipeline.core.schema import Record
from pipeline.runs.store import Appender


class Counts(NamedTuple):
    """Of one call: records made, failures made, and what an earlier call had left ready."""

    made: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        return f"{self.made} dialogues, {self.failed} failures, {self.skipped} there already"


class Planned(Protocol):
    """Something to be made, by the id that its record or its failure will have."""

    @property
    def id(self) -> str: ...


Plan = TypeVar("Plan", bound=Planned)


async def make_missing(
    plans: Iterable[Plan],
    ended: Container[str],
    make: Callable[[Plan], Awaitable[Record]],
    records: Path,
    failures: Path,
    failure: type[Record],
    at_a_time: int,
    tick: Callable[[], None],
    what: str,
) -> Counts:
    """`make` each plan that no id of `ended` stands for, `at_a_time` of them, and append what is made to `records`, or
    to `failures` where it is a `failure`; `tick` is called at each one's end.

    At a first SIGINT or SIGTERM no more of them begin, and Stopped, which says `what` they are, is raised when those
    under way have ended; a second one stops at once.
    """
    made = failed = skipped = 0

    def missing() -> Iterator[Plan]:
        nonlocal skipped
        for plan in plans:
            if plan.id in ended:
                skipped += 1
            else:
                yield plan

    with Appender(records) as good, Appender(failures) as bad:

        async def work(plan: Plan) -> None:
            nonlocal made, failed
            record = await make(plan)
            if isinstance(record, failure):
                bad.append(record)
                failed += 1
            else:
                good.append(record)
                made += 1
            tick()

        if await admit(missing(), work, at_a_time):
            raise Stopped(f"after {made + failed} more {what}")
    return Counts(made, failed, skipped)

"""A turn as a labeller sees it, and what it says where it has no label for one."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.core.schema import Fact


class TurnInContext(NamedTuple):
    """One turn. `told`: ids of the facts that the other party has stated so far."""

    text: str
    before: str = ""  # the turn before it
    own: bool | None = False  # whether the same party said that; None: unknown
    facts: tuple[Fact, ...] = ()
    told: frozenset[str] = frozenset()
    asked_before: bool = False  # an earlier turn of this party asked


class Unlabelled(NamedTuple):
    """A turn whose acts are unknown: never the same as a turn without acts."""

    message: str
    engine: bool = False  # the judge's engine failed: asking again may help

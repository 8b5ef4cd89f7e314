"""What was read of a text lately is kept: turns are alike, facts come back, and several rules ask the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

LATELY = 2048  # readings of one kind
SHORT = 2048  # letters; what is read of long texts would fill the memory, and they seldom come back

More = ParamSpec("More")
Read = TypeVar("Read")


def lately(read: Callable[Concatenate[str, More], Read]) -> Callable[Concatenate[str, More], Read]:
    """`read` as it is, of a text and of what else can be hashed; of short texts it is remembered."""
    remembered = cast(Callable[Concatenate[str, More], Read], lru_cache(LATELY)(read))

    @wraps(read)
    def recalled(text: str, *more: More.args, **named: More.kwargs) -> Read:
        return (remembered if len(text) <= SHORT else read)(text, *more, **named)

    return recalled

"""What a family of embedded code tasks is (text_families.py and number_families.py beside it hold them).

A family is a description, a program with a place for each convention, and a way to draw arguments. A convention is a
choice of which any is reasonable: what its question does not say, nobody can know. A value of it is a sentence for the
question and a piece of the program. F is the function's name, K a number that is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple


class Value(NamedTuple):
    """One way to settle a convention: in words, and as a line of the program."""

    says: str
    code: str


class Convention(NamedTuple):
    """What a family's question may leave open, such as what an empty list gives; to ask for it is to name a topic."""

    name: str  # its place in the program
    topics: tuple[str, ...]  # stems of words of which one in a question asks for it
    ask: str
    values: tuple[Value, ...]


class Family(NamedTuple):
    """Programs of one kind, that differ in a number and in how their conventions are settled."""

    kind: str
    wants: tuple[str, ...]  # wordings of the description
    program: str
    numbers: tuple[int, ...]  # K
    conventions: tuple[Convention, ...]
    draw: Callable[[Random, int], tuple[Any, ...]]  # arguments, of which some tell the conventions apart


def empty(what: str, *values: tuple[str, str]) -> Convention:
    choices = tuple(Value(f"`F` gives {says} where {what}.", code) for says, code in values)
    return Convention(
        "empty", ("empty", "no ", "nothing", "zero", "none"), f"What does `F` give where {what}?", choices
    )


WORDS = "ash birch cedar elm fig hazel larch maple oak pine rowan yew".split()
PEOPLE = "Ada Ben Cleo Dan Eva Finn Gus Hal".split()
# Stems that ask how a tie is settled, and which of several values counts.
TIES = ("tie", "equally often", "equal", "same count", "same number", "same score")
CLASH = ("same", "both", "clash", "collision", "duplicate", "several", "more than one", "conflict", "tie")


def some(rng: Random, most: int) -> int:
    return rng.choice([0, *range(1, most + 1), *range(1, most + 1)])

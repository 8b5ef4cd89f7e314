"""The words of the source `lookup`, as data/lookup.yaml has them: fillers, and the wordings of each kind of sentence.

WORDS = words()
WORDS.relations["place_of"].says       # ("{A}'s {X} is {V}.", ...)
WORDS.fillers["places"]                # ("in the kitchen", ...)
"""

from __future__ import annotations

import re
from functools import lru_cache

import yaml

from pipeline.core.resources import shipped
from pipeline.core.schema import Record

FILE = shipped("data", "lookup.yaml")
MONTHS = (
    "January February March April May June July August September October November December"
).split()  # fmt: skip


class Relation(Record):
    """One kind of sentence: of somebody (`A`) or something (`X`) it says a value (`V`). Each names its fillers."""

    A: str = ""
    X: str = ""
    V: str
    says: tuple[str, ...]
    traces: tuple[str, ...]  # there is something to know, and not what
    denials: tuple[str, ...] = ()  # there is nothing; of what a question may begin with
    asks: tuple[str, ...]

    @property
    def subject(self) -> dict[str, str]:
        """The fillers of what it is about, by letter."""
        return {letter: name for letter, name in (("A", self.A), ("X", self.X)) if name}


class Kind(Record):
    """One kind of question: what is asked of the first relation's subject, through one relation or two."""

    through: tuple[str, ...]
    questions: tuple[str, ...]


class Words(Record):
    """All of them, by name."""

    fillers: dict[str, tuple[str, ...]]
    openers: tuple[str, ...]
    choices: tuple[str, ...]
    relations: dict[str, Relation]
    kinds: dict[str, Kind]


@lru_cache(1)
def words() -> Words:
    """What the file holds, with the dates, times and prices that nobody wants to write down."""
    written = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    parts = {name: written.pop(name) for name in ("openers", "choices", "relations", "kinds")}
    return Words(fillers={name: _listed(each) for name, each in written.items()} | _reckoned(), **parts)


def _listed(fillers: str | list[str]) -> tuple[str, ...]:
    if isinstance(fillers, str):
        return tuple(re.split(r",\s*" if "," in fillers else r"\s+", fillers.strip()))
    return tuple(fillers)


def _reckoned() -> dict[str, tuple[str, ...]]:
    """Days of a year, quarters of an hour of a day, and prices of a meal."""
    hours = [(hour, "am") for hour in range(7, 12)] + [(12, "pm")] + [(hour, "pm") for hour in range(1, 10)]
    return {
        "dates": tuple(f"{month} {day}" for month in MONTHS for day in range(1, 29)),
        "times": tuple(f"{hour}:{minute:02} {half}" for hour, half in hours for minute in (0, 15, 30, 45)),
        "prices": tuple(f"${cents // 100}.{cents % 100:02}" for cents in range(225, 2400, 25)),
    }

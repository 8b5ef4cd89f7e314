"""The words of the source `hidden_item`, as data/hidden_item.yaml has them.

WORDS = item_words()
WORDS.attributes["colour"]             # ("red", "blue", ...)
WORDS.says                             # ("The {N} with {P}'s {T} is {V}.", ...)
"""

from __future__ import annotations

import re
from functools import lru_cache

import yaml
from pydantic import field_validator

from pipeline.core.resources import shipped
from pipeline.core.schema import Record

FILE = shipped("data", "hidden_item.yaml")


class ItemWords(Record):
    """All of them, by name."""

    nouns: tuple[str, ...]
    things: tuple[str, ...]
    attributes: dict[str, tuple[str, ...]]  # in the order of adjectives
    says: tuple[str, ...]
    asks: tuple[str, ...]
    questions: tuple[str, ...]

    @field_validator("nouns", "things", mode="before")
    @classmethod
    def _listed(cls, words: str) -> list[str]:
        return re.split(r",\s*" if "," in words else r"\s+", words.strip())

    @field_validator("attributes", mode="before")
    @classmethod
    def _each_listed(cls, attributes: dict[str, str]) -> dict[str, list[str]]:
        return {name: values.split() for name, values in attributes.items()}


@lru_cache(1)
def item_words() -> ItemWords:
    """What the file holds."""
    return ItemWords.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))

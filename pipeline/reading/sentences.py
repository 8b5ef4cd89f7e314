"""The sentences of a text, and the words in them that carry meaning."""

from __future__ import annotations

import re

from pipeline.reading.lately import lately

_STOP = set(
    "a an the of to in on at is are was were be do does did has have had how many much what which who when where "
    "there it its he she they them his her their and or for with by that this you know tell me can could i my please "
    "not than so some each after will would get".split()
) - {"each"}
_BETWEEN = re.compile(r"(?<=[.!?])\s+")
_WORDS = re.compile(r"[a-z]+")


def sentences(text: str) -> list[str]:
    """Split after each . ! or ? that a space follows."""
    return list(_sentences(text))


@lately  # each rule of a reader asks it of the same turn
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(part for part in _BETWEEN.split(text.strip()) if part)


@lately  # the facts of a task are held against every sentence of its turns
def content_words(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning; numbers are left out, since questions lack them."""
    return frozenset(_stem(word) for word in _WORDS.findall(text.lower()) if word not in _STOP)


def _stem(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s"):
        return word
    return word[:-2] if word.endswith("es") else word[:-1]

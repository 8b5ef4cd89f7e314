"""Whether a text states, mentions or gives away an answer."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from pipeline.reading.attempt import attempt
from pipeline.reading.numbers.equality import equal
from pipeline.reading.numbers.sums import sums
from pipeline.reading.sentences import sentences

_NUMBER = re.compile(r"(?<![\w.])-?[$£€]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?")


# A number is a result behind one of these ("which makes 16"), unless a sum goes on from it ("is 4 x 4 = 16").
_IS = (
    r"equals?|equal to|is|are|was|were|be|it's|that's|gives?(?: us| you)?|gets?|got|makes?|making it|have|has|had"
    r"|leaves|left with|total(?: of)?|answer of|found it to be|say"
)
_JUST = r"actually|really|just|only|exactly|then|also|to be|a total of"
_RESULT = re.compile(rf"(?:=|\b(?:{_IS})(?: (?:{_JUST}))?)[\s:*]*$", re.I)
_DENIED = re.compile(r"(?:\bnot|n't)(?: \w+)?[\s:*]*$", re.I)
_GOES_ON = re.compile(r"[^\S\n]*(?:[a-z]+\s+){0,2}?(?:[-+*/×÷]|x\b|times\b|plus\b|minus\b)\s*[$\d(]", re.I)
_CALLED = re.compile(r"[\w ]{0,20}\b(?:is|as)\b[\w ]{0,20}\banswer\b", re.I)


class Number(NamedTuple):
    """A number of a text, and where it starts. `result`: it is told as what something is, or as the answer."""

    written: str
    at: int
    result: bool
    called: bool  # the answer, by that word


def states(text: str, gold: str, question: str = "") -> bool:
    """Whether a turn commits to the gold answer: the test of `first_leak`, on one turn."""
    answer = attempt(text, question)
    return answer is not None and equal(answer, gold)


@lru_cache(2048)  # of a question, for every turn on it
def numbers_told(text: str) -> tuple[Number, ...]:
    """Every number of a text in digits; in a sentence that asks, none is a result."""
    told, place = [], 0
    for part in sentences(text):
        place = text.index(part, place)
        for match in _NUMBER.finditer(part):
            before, after = part[: match.start()], part[match.end() :]
            asks = part.endswith("?")
            called = not asks and bool(_CALLED.match(after))
            sum_or_verb = _RESULT.search(before) and not _DENIED.search(before) and not _GOES_ON.match(after)
            result = not asks and bool(sum_or_verb)
            told.append(Number(match.group().rstrip(","), place + match.start(), called or result, called))
    return tuple(told)


def mentions(text: str, gold: str) -> bool:
    """Whether the gold stands anywhere in a text, as a whole number: the naive match."""
    return any(equal(number.written, gold) for number in numbers_told(text))


def gives_away(text: str, gold: str, question: str = "") -> bool:
    """Whether a turn tells the gold number as its answer or as a result.

    A number that the question states is its answer only by that word, or where the turn does a sum that makes it.
    """
    if states(text, gold, question):
        return True
    told = [number for number in numbers_told(text) if number.result and equal(number.written, gold)]
    if not told:
        return False
    news = not mentions(question, gold) or any(equal(str(value), gold) for value in sums(text))
    return any(number.called or news for number in told)

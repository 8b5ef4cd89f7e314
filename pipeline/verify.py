"""Answer equivalence: the same number however it is written, never a substring of something longer.

What is not the same plain number is left to math-verify. Decided here, and tested:
money signs, thousands commas and unit words do not count ("$1,000.00" is "1000", "12 apples" is "12");
a percentage is its number and its fraction ("50%" is "50" and "0.5"), because GSM8K's golds drop the
sign; anything else in words is equal only to the same words ("impossible" is not "not impossible");
a text with two numbers ("12 or 13") is no number.
"""

from __future__ import annotations

import logging
import re
from fractions import Fraction
from functools import lru_cache

_PLAIN = re.compile(
    r"(?P<sign>[-+]?)\s*[$£€]?\s*(?P<sign2>-?)(?P<whole>\d[\d,]*(?:\.\d*)?|\.\d+)"
    r"(?:\s+(?P<top>\d+)\s*/\s*(?P<bottom>\d+)|\s*/\s*(?P<under>\d+))?(?P<percent>\s*(?:\\?%|percent\b))?"
    r"(?:\s*(?!(?:dozen|hundred|thousand|million|billion|and|or)\b)[a-z]+(?:[ '-][a-z]+){0,5})?\.?",
    re.I,
)
_LONGEST = 100  # characters of an expression that is handed to math-verify


def number(text: str) -> float | None:
    """The number that a text is, its unit aside, or None. "50%" is 50, "1/2" is 0.5, "3 1/2" is 3.5."""
    value = _fraction(text)
    return None if value is None else float(value[0])


def equal(said: str, gold: str) -> bool:
    """Whether two answers are the same; an empty one is equal to nothing."""
    if said.isdecimal() and gold.isdecimal():  # nearly every call
        return int(said) == int(gold)
    return _equal(said, gold)


@lru_cache(maxsize=1 << 16)
def _equal(said: str, gold: str) -> bool:
    said, gold = (
        " ".join(text.replace("\\$", "$").replace("−", "-").split()).rstrip(".").casefold() for text in (said, gold)
    )
    if not said or not gold:
        return False
    if said == gold:
        return True
    ours, theirs = _fraction(said), _fraction(gold)
    if ours and theirs:
        (a, a_is_percent), (b, b_is_percent) = ours, theirs
        return a == b or (a_is_percent != b_is_percent and (a == 100 * b if a_is_percent else b == 100 * a))
    return _expression(said) and _expression(gold) and _same_expression(said, gold)


def _fraction(text: str) -> tuple[Fraction, bool] | None:
    """The exact value, and whether it is a percentage; None where a text is not one number."""
    match = _PLAIN.fullmatch(text.strip())
    if match is None:
        return None
    value = Fraction(match["whole"].replace(",", ""))
    if match["top"]:
        if int(match["bottom"]) == 0:
            return None
        value += Fraction(int(match["top"]), int(match["bottom"]))
    elif match["under"]:
        if int(match["under"]) == 0:
            return None
        value /= int(match["under"])
    return -value if "-" in match["sign"] + match["sign2"] else value, bool(match["percent"])


def _expression(text: str) -> bool:
    """Whether it is mathematics: no words besides LaTeX commands. math-verify takes "13" out of "12 or 13".

    Powers and factorials are not evaluated: a tower of them never ends, and the alarm that would stop
    math-verify works in the main thread only.
    """
    bare = re.sub(r"\\(?:text|mathrm)\{[^{}]*\}|\\[a-z]+", " ", text)
    refused = re.search(r"[a-z]{2,}|[\^!:]|\*\*|\be\d", bare)
    return refused is None and len(text) <= _LONGEST and re.search(r"\d", bare) is not None


def _same_expression(said: str, gold: str) -> bool:
    # Imported here because it brings sympy, which commands such as --help do not need.
    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.ERROR)  # it warns once that its alarm is off, see _expression
    ours, theirs = (parse(_math(text), parsing_timeout=None) for text in (said, gold))
    return bool(ours and theirs and verify(theirs, ours, timeout_seconds=None))


def _math(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.replace("$", "").replace("\\%", "%"))
    return f"${text}$" if "\\" in text else text

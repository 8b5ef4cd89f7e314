"""The sums that people state in prose, and their values.

sums("Take half of 20, then 5 x $3.")     # [Fraction(10), Fraction(15)]
"""

from __future__ import annotations

import re
from fractions import Fraction

from pipeline.reading.numbers.arithmetic import NotArithmetic, evaluate
from pipeline.reading.numbers.numerals import spoken, without_endless

_N = r"\$?(\d+(?:\.\d+)?(?:/\d+)?%?)"
_UNIT = r"(?:\s+[a-z]+){0,2}?"
_AND = rf"{_UNIT}\s+(?:and|to|with|by|from)\s+(?:the\s+)?"
# A sum in words, and how its two numbers are put together.
_SPELLED = {
    rf"(?:add(?:ing)?|sum of|total of|combin(?:e|ing))\s+(?:the\s+)?{_N}{_AND}{_N}": "{0}+{1}",
    rf"(?:subtract(?:ing)?|tak(?:e|ing)(?: away)?|remov(?:e|ing))\s+(?:the\s+)?{_N}{_UNIT}\s+(?:away\s+)?from"
    rf"\s+(?:the\s+)?{_N}": "{1}-{0}",
    rf"difference (?:between|of)\s+{_N}{_AND}{_N}": "abs {0}-{1}",
    rf"(?:multipl(?:y|ying)|product of)\s+(?:the\s+)?{_N}{_AND}{_N}": "{0}*{1}",
    rf"(?:divid(?:e|ing)|quotient of)\s+(?:the\s+)?{_N}{_AND}{_N}": "{0}/{1}",
    rf"how many times (?:does|do|can|will)\s+{_N}{_UNIT}\s+(?:go|fit)(?:es|s)?\s+(?:into|in)\s+{_N}": "{1}/{0}",
    rf"(?:what|number) times\s+{_N} (?:is|equals|makes)\s+{_N}": "{1}/{0}",
    rf"{_N}\s+(?:of|out of)\s+(?:the\s+)?{_N}": "{0}*{1}",
}
_OPERATORS = [
    (r"\s*(?:\bplus\b|\+)\s*", "+"),
    (r"\s*\bminus\b\s*|\s+[-−–]\s+(?=[$\d(])|(?<=[\d)])[-−–](?=[\d(])", "-"),
    (r"(?<=\d)\s*(?:\btimes\b|\bmultiplied by\b|\bx\b|\\times|×|·|\*)\s*(?=[$\d(])", "*"),
    (r"\s*(?:\bdivided by\b|÷|\\div)\s*", " / "),
]
_WRITTEN = re.compile(r"(?<![\w.])[(]*\d[\d.]*%?[)]*(?:\s*[-+*/]\s*[(]*\d[\d.]*%?[)]*)+(?![\w%])")


def sums(text: str) -> list[Fraction]:
    """The values of the sums that a text states, in its order: in signs ("5 x $3") or words ("half of 20").

    A fraction alone ("1/2") is none. A sum with its result ("2 + 3 = 6") has the value of the sum, not of the result.
    """
    return [value for _, value in placed_sums(in_signs(text))]


def placed_sums(plain: str) -> list[tuple[int, Fraction]]:
    """Place and value of each sum of a text that is `in_signs`."""
    placed = [(match.start(), _value(match.group())) for match in _WRITTEN.finditer(plain)]
    for pattern, form in _SPELLED.items():
        for match in re.finditer(pattern, plain, re.I):
            value = _value(form.removeprefix("abs ").format(*(f"({number})" for number in match.groups())))
            placed.append((match.start(), abs(value) if value is not None and form.startswith("abs ") else value))
    return sorted((at, value) for at, value in placed if value is not None)


def in_signs(text: str) -> str:
    """Digits for words, signs for operators; money signs, units before an operator and remarks in brackets go."""
    text = without_endless(text).replace("$", "").replace("\\", "")
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text).replace("**", "")
    text = re.sub(r"\([^()\d]*\)", " ", text)
    text = re.sub(r"(?<![-+*/=.\d])(\d+)[-–](\d+)(?![-+*/=.\d])", _range, text)
    text = re.sub(r"\bhalf (?=of\b|the\b)", "1/2 ", re.sub(r"\b(?:twice|double)\s+(?=\d)", "2 * ", text, flags=re.I))
    text = re.sub(r"\b[a-z]+(?:-[a-z]+)?\b", _digits, text, flags=re.I)
    for pattern, sign in _OPERATORS:
        text = re.sub(pattern, sign, text, flags=re.I)
    return re.sub(r"(?<=\d)\s+(?!and\b|or\b|to\b|by\b|of\b|from\b)[a-z°]+(?:\s+[a-z]+)?\s*(?=[-+*/]\s*[\d(])", "", text)


def _range(match: re.Match[str]) -> str:
    """ "3-5", closed up and rising, is a range; "5-3" is a sum."""
    return f"{match[1]} to {match[2]}" if int(match[1]) < int(match[2]) else match.group()


def _digits(match: re.Match[str]) -> str:
    value = spoken(match.group())
    return match.group() if value is None or value.denominator > 1 or match.group().casefold() == "one" else str(value)


def _value(expression: str) -> Fraction | None:
    if re.fullmatch(r"\(*\d+/\d+\)*", expression):
        return None  # "1/2" is a number, "1 / 2" a sum
    try:
        return evaluate(re.sub(r"(\d+(?:\.\d+)?)%", r"(\1/100)", expression)).value
    except NotArithmetic:
        return None

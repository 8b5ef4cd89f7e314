"""Numbers in words: one table of them, for whatever reads problems, answers and replies.

`numbers` finds every number that a text states, loosely ("twice" is 2); `spoken` reads a text that is one number and
nothing else, strictly. The libraries that read words (word2number, number-parser, text2num) know no fractions and
take "one" for 1 inside any sentence, so the table is our own.

    spoken("one hundred and five")    # Fraction(105)
    numbers("He has 2 dozen pens.")   # {Fraction(24)}
"""

from __future__ import annotations

import re
from fractions import Fraction

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_MULTIPLES = {
    Fraction(2): "twice double doubled doubles couple pair".split(),
    Fraction(3): "thrice triple tripled triples".split(),
}
_COUNTS = (
    {word: Fraction(i) for i, word in enumerate(_ONES)}
    | {word: Fraction(10 * i) for i, word in enumerate(_TENS, start=2)}
    | {word: value for value, words in _MULTIPLES.items() for word in words}
)
_SCALES = {"thousand": Fraction(10**3), "million": Fraction(10**6), "billion": Fraction(10**9)}
_PARTS = {
    word: Fraction(1, bottom)
    for bottom, words in {
        2: "half halves",
        3: "third thirds",
        4: "quarter quarters fourth fourths",
        5: "fifth fifths",
        6: "sixth sixths",
        7: "seventh sevenths",
        8: "eighth eighths",
        9: "ninth ninths",
        10: "tenth tenths",
        12: "twelfth twelfths",
        100: "hundredth hundredths",
    }.items()
    for word in words.split()
}
# Read in a text that is one number and nothing else.
_STRICT_ONLY = (
    "billion", "sixths", "seventh", "sevenths", "eighth", "eighths", "ninth", "ninths", "twelfth", "twelfths",
    "hundredth", "hundredths",
)  # fmt: skip
# What multiplies a number just before it, or stands alone, where numbers are read loosely.
_TIMES = {"dozen": Fraction(12), "dozens": Fraction(12), "hundred": Fraction(100), "percent": Fraction(1, 100)}
_TIMES |= {word: value for word, value in (_SCALES | _PARTS).items() if word not in _STRICT_ONLY}
_WORD = "|".join([*_ONES, *_TENS, "hundred", *_SCALES])
_HUNDREDS = "|".join(["hundred", *_SCALES])
# Words of which "hundred" or more is not the last: "two hundred and fifty" is one number.
_LONG = re.compile(
    rf"\b(?:(?:{_WORD})\s+|an?\s+(?={_HUNDREDS}))(?:(?:{_WORD})\s+)*?(?:{_HUNDREDS})(?:\s+(?:and\s+)?(?:{_WORD}))+\b"
)
_GRADES = ("grade", "grader", "graders")
_ORDINALS = ("third", "fourth", "fifth", "sixth", "tenth")
ORDINALS = frozenset(("seventh", "ninth", "twelfth", "hundredth"))  # behind a number no parts: "40 seventh graders"


_ENDLESS = re.compile(r"\d[\d,]{200,}")  # longer than any float; a model in a loop writes such


def without_endless(text: str) -> str:
    """The text without runs of more than 200 digits, which are no number here."""
    return _ENDLESS.sub(" ", text)


def numbers(text: str) -> set[Fraction]:
    """The numbers that a text states, in digits or words: "2 dozen" is 24, "50%" and "half" are 1/2, "twice" is 2.

    A bare "one" (mostly a pronoun) and ordinals ("the third dart", "fifth grade") are none.
    """
    values: set[Fraction] = set()
    current: Fraction | None = None
    read = _LONG.sub(_in_digits, without_endless(text).lower().replace("-", " "))
    pieces = re.findall(r"\d[\d,]*(?:\.\d+)?|[a-z]+|[%/]", read)
    for i, piece in enumerate(pieces):
        before, after = pieces[i - 1] if i else "", pieces[i + 1] if i + 1 < len(pieces) else ""
        if piece in _TIMES or piece == "%":
            factor = _TIMES.get(piece, Fraction(1, 100))
            if current is not None:
                current *= factor
            elif piece not in _ORDINALS or (before in ("a", "and") and after not in _GRADES):
                current = factor
            continue
        value = _COUNTS.get(piece, Fraction(piece.replace(",", "")) if piece[0].isdigit() else None)
        if piece == "/" and current is not None:
            continue
        if value is not None and before == "/" and current is not None and value:
            current /= value
        elif value is not None and before in _TENS and current is not None and piece in _ONES[1:10]:
            current += value
        else:
            _keep(current, pieces, i, values)
            current = value
    _keep(current, pieces, len(pieces), values)
    return values


def _in_digits(run: re.Match[str]) -> str:
    value = spoken(run[0])
    return run[0] if value is None else str(value)


def _keep(value: Fraction | None, pieces: list[str], end: int, values: set[Fraction]) -> None:
    if value is not None and not (value == 1 and pieces[end - 1] == "one"):
        values.add(value)


LONGEST = 20  # words of a number
WORDS = frozenset(
    [*_ONES, *_TENS, *_SCALES, *_PARTS, "hundred", "dozen", "dozens", "trillion"]
)  # that a number has in it


def spoken(text: str) -> Fraction | None:
    """The number that a text is in words, or None: "minus five", "two thirds", "three and a half", "2.5 million".

    It is one number and nothing else: no unit, no "a couple", no ordinal ("third", "twenty third").
    """
    words = text.casefold().replace("-", " ").split()
    if len(words) > LONGEST or _ENDLESS.search(text):
        return None
    if words[:1] in (["minus"], ["negative"]):
        value = spoken(" ".join(words[1:])) if words[1:2] not in (["minus"], ["negative"]) else None
        return None if value is None else -value
    if words[:2] in (["half", "a"], ["half", "an"]):  # "half a dozen"
        whole = _whole(["one", *words[2:]]) if len(words) == 3 else None
        return None if whole is None else whole / 2
    for i, word in enumerate(words):
        if word not in ("and", "point") or (whole := _whole(words[:i])) is None:
            continue
        if word == "and" and (part := _part(words[i + 1 :])) is not None:
            return whole + part
        if word == "point":
            return _decimals(whole, words[i + 1 :])
    return _part(words) if (whole := _whole(words)) is None else whole


def _decimals(whole: Fraction, words: list[str]) -> Fraction | None:
    """ "three point one four"."""
    if not words or not all(word in _ONES[:10] for word in words):
        return None
    return whole + Fraction(int("".join(str(_ONES.index(word)) for word in words)), 10 ** len(words))


def _part(words: list[str]) -> Fraction | None:
    """ "half", "a third", "two thirds"."""
    *count, name = words or [""]
    if name not in _PARTS:
        return None
    many = name.endswith(("s", "halves"))
    if count in (["a"], ["one"]) or (not count and name == "half"):
        return None if many else _PARTS[name]
    top = _whole(count)
    return top * _PARTS[name] if many and top is not None and top > 1 else None


def _whole(words: list[str]) -> Fraction | None:
    """A cardinal number; digits may stand before a scale ("5 million"), and "a" too ("a dozen")."""
    total, group, least = Fraction(0), None, None
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        if word in _ONES:
            number = Fraction(_ONES.index(word))
            if before in _TENS and 0 < number < 10 and group is not None:
                group += number
            elif before in ("", "and", "hundred", *_SCALES):
                group = (group or Fraction(0)) + number
            else:
                return None
        elif word in _TENS and before in ("", "and", "hundred", *_SCALES):
            group = (group or Fraction(0)) + 10 * (_TENS.index(word) + 2)
        elif i == 0 and word in ("a", "an") and words[1:2] in (["dozen"], ["hundred"], ["thousand"], ["million"]):
            group = Fraction(1)
        elif i == 0 and len(words) == 2 and re.fullmatch(r"\d[\d,]*(?:\.\d+)?", word):
            group = Fraction(word.replace(",", ""))
            if words[1] not in (*_SCALES, "hundred", "dozen"):
                return None
        elif word == "hundred" and group is not None and before != "and" and 0 < group < 100:
            group *= 100
        elif word == "dozen" and group is not None and i == len(words) - 1:
            total, group, least = total + group * 12, None, Fraction(12)
        elif word in _SCALES and group is not None and (least is None or _SCALES[word] < least):
            total, group, least = total + group * _SCALES[word], None, _SCALES[word]
        elif word == "and" and before in ("hundred", "thousand", "million", "billion") and i + 1 < len(words):
            continue
        else:
            return None
    return None if group is None and least is None else total + (group or 0)

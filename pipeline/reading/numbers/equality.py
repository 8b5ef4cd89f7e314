"""Answer equivalence: the same number however it is written, never a substring of something longer.

What is not the same plain number, range or time of day is left to math-verify. Decided here, and tested:
- money signs, thousands commas and unit words do not count ("$1,000.00" is "1000", "12 apples" is "12"), but cents are
  a hundredth of what has a dollar sign ("50 cents" is "$0.50", not "$50");
- a percentage is its number and its fraction ("50%" is "50" and "0.5"), because GSM8K's golds drop the sign, and for
  the same reason "50 cents" is "50" and "0.5";
- a number in words is the number ("twenty-five pens" is "25", "two thirds" is "2/3", "5 million" is "5000000");
- a range is the same range ("3-5", "between 3 and 5", "[3, 5]" are "3 to 5"), never one of its ends; "5-3" is 2;
- a time of day is the same time ("14:30" is "2:30 pm"); without am or pm it may be either ("2:30" is both);
- so is a time in words ("half past four" is "4:30 pm"), and a day is the same day ("3 May" is "on the 3rd of May");
- a name is the same without its article, and without a place's preposition where one side has none ("kitchen" is "in
  the kitchen", "under the bed" is not "on the bed"); nobody, nothing, nowhere and never are none;
- anything else in words is equal only to the same words ("impossible" is not "not impossible");
- a text with two numbers ("12 or 13") or a bound ("about 12") is no number.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple

from pipeline.reading.numbers.numerals import LONGEST, ORDINALS, WORDS, spoken, without_endless

_DIGITS = r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d+)(?:\.\d*)?|\.\d+"
_PLAIN = re.compile(
    rf"(?P<sign>[-+]?)\s*(?P<money>[$£€]?)\s*(?P<sign2>-?)(?P<whole>{_DIGITS})"
    r"(?:\s+(?P<top>\d+)\s*/\s*(?P<bottom>\d+)|\s*/\s*(?P<under>\d+))?(?P<percent>\s*(?:\\?%|percent\b))?(?P<unit>.*)",
    re.I | re.S,
)
# A letter alone is a unit where it cannot be a variable or a scale: "5 m", but neither "5x" nor "5k".
_UNIT = re.compile(
    r"\s*°?\s*/?\s*(?:¢|(?!(?:and|or|[xyznkei])\b)[a-z]+(?:(?:\s*/\s*|[ '-]|\. ?)[a-z]+){0,5})?\.?", re.I
)
_HOURS = "one two three four five six seven eight nine ten eleven twelve".split()
_SAID_TIME = re.compile(
    r"(?:(?P<part>half|(?:a )?quarter) (?P<side>past|to) )?"
    rf"(?P<hour>\d{{1,2}}|{'|'.join(_HOURS)})(?:(?P<sign>[:.])(?P<minute>\d\d))?(?P<exact> o'clock)?"
    r"(?: ?(?P<half>[ap])\.?m\.?| (?:in the (?P<of_day>morning|afternoon|evening)|at (?P<night>night)))?(?: sharp)?"
)
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)}|sept|{'|'.join(month[:3] for month in _MONTHS)})\.?"
_DATES = (
    rf"(?:on )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}",
    rf"(?:on )?{_MONTH} (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?",
)
_NAME = re.compile(
    r"(?:(?:(?P<where>in|on|under|behind)|at|by|with|to|from) )?(?:(?:the|a|an) )?(?P<name>\D+?)(?:['’]s)?"
)
_NONE = {"nobody", "no one", "nothing", "nowhere", "never"}
_RANGES = (
    r"(?:from )?(?P<low>.+?) to (?P<high>.+)",
    r"between (?P<low>.+?) and (?P<high>.+)",
    r"\[(?P<low>[^,]+), ?(?P<high>[^,]+)\]",
    r"(?P<low>[^-–—]*\d[^-–—]*?)(?:(?<! )-(?! )| ?[–—] ?)(?P<high>[^-–—]*\d[^-–—]*)",
)
_LONGEST = 100  # characters of an expression that is handed to math-verify
# Behind a number it makes another number of it, a bound or no answer: "12 more than Tom has", "12 at most".
_NO_UNIT = re.compile(
    r"\bthan\b|\btimes (?:as|more|less|the|that)\b|\bat (?:least|most)\b"
    r"|^\s*(?:minus|plus|not|is|isn't|squared|cubed)\b"
)
# Several numbers, or a bound, of which math-verify would take one.
_SEVERAL = re.compile(r"[,;<>≤≥≈±|&→]|\\(?:n?eq?|ne|[gl]eq?|[gl]t|approx|pm|to)\b|\d\s+\d|\d\s+\(", re.I)


class _Value(NamedTuple):
    """A number, and what it counts where that decides."""

    amount: Fraction
    kind: Literal["", "%", "$", "¢"] = ""


@lru_cache(maxsize=1 << 12)  # every turn that is read asks it of its task's answer
def number(text: str) -> float | None:
    """The number that a text is, its unit aside, or None. "50%" is 50, "1/2" is 0.5, "twelve pens" is 12."""
    value = _value(_plain(text))
    return None if value is None else float(value.amount)


def exact_number(text: str) -> Fraction | None:
    """The same exactly; None of a time of day, a date, a percentage and cents, which are other numbers elsewhere."""
    value = _value(_plain(text)) if is_number(text) else None
    return None if value is None or value.kind in ("%", "¢") else value.amount


@lru_cache(maxsize=1 << 12)
def is_number(answer: str) -> bool:
    """Whether an answer is a number, and no time of day or date that begins with one."""
    return number(answer) is not None and not _times(_plain(answer)) and not _dates(_plain(answer))


def is_more(answer: str, gold: str) -> bool | None:
    """Whether an answer is a greater number than the gold one; None where one is none, or they are of unlike units."""
    value, wanted = _value(_plain(answer)), _value(_plain(gold))
    if not is_number(answer) or not is_number(gold):
        return None
    if value is None or wanted is None or (value.kind != wanted.kind and {value.kind, wanted.kind} & {"%", "¢"}):
        return None
    return value.amount > wanted.amount


def equal(answer: str, gold: str) -> bool:
    """Whether two answers are the same; an empty one is equal to nothing."""
    if answer.isdecimal() and gold.isdecimal() and max(len(answer), len(gold)) < 300:  # nearly every call
        return int(answer) == int(gold)
    return _equal(answer, gold)


@lru_cache(maxsize=1 << 16)
def _equal(answer: str, gold: str) -> bool:
    answer, gold = _plain(answer), _plain(gold)
    if not answer or not gold:
        return False
    if _squeezed(answer) == _squeezed(gold):
        return True
    for read in (_range, _times, _dates):
        ours, theirs = read(answer), read(gold)
        if ours and theirs:
            return bool(ours & theirs)
        other = answer if theirs else gold if ours else ""
        if other and read is not _range and (read is _dates or not _bare(other)):
            return False
    if _range(answer) or _range(gold):
        return False
    value, wanted = _value(answer), _value(gold)
    if value and wanted:
        return _same(value, wanted)
    if not value and not wanted and _same_name(answer, gold):
        return True
    answer, gold = _result(answer), _result(gold)
    return _expression(answer) and _expression(gold) and _same_expression(answer, gold)


def _squeezed(text: str) -> str:
    """Without the spaces around signs: "(3, 4)" is "(3,4)"."""
    text = re.sub(r"\\(?:left|right)\b", "", re.sub(r"\\(l|g|n)eq\b", r"\\\1e", text))
    return re.sub(r"\s*([,;()\[\]{}<>=])\s*", r"\1", text)


def _result(text: str) -> str:
    """What an equation comes to: "x = 12", and "5 + 7 = 12" where that is so."""
    text = re.sub(r"(?<=\d)\s*(?:[×·]|x(?=\s*\d))\s*", " * ", text)
    left, sign, right = text.rpartition("=")
    if re.fullmatch(r"(?:\s*[a-z](?:_\w+|\([a-z]\))?\s*=?)+", left):
        return right.strip()
    holds = bool(sign) and _expression(left) and _expression(right) and _same_expression(left, right)
    return right.strip() if holds else text


def _bare(text: str) -> bool:
    """Whether a text is a number alone: "4" and "four" may be said for "4 pm"."""
    return spoken(text) is not None or re.fullmatch(r"\d+(?:\.0)?", text) is not None


def counted_as(answer: str) -> str:
    """What answers are counted by: of numbers their amount, whatever the unit; of names, without article, in small
    letters; of all others, themselves."""
    plain = _plain(answer)
    value = None if _times(plain) or _dates(plain) else _value(plain)
    if value is not None:
        return f"{value.amount}{value.kind if value.kind in ('%', '¢') else ''}"
    named = re.fullmatch(r"(?:(?:in|on|at) )?(?:(?:the|a|an) )?(\D+)", plain)
    return named[1] if named else answer


def _plain(text: str) -> str:
    """In small letters, with one way to write a sign, a space and a fraction ("½" is " 1/2")."""
    text = re.sub(r"(?<=\d)[\u00a0\u202f ](?=\d{3}(?![\d/]))(?! \d+/)", "", text.replace("\\$", "$").replace("−", "-"))
    text = re.sub(r"^\s*(?:[–—]|(?:minus|negative)\s+)(?=[$£€]?\d)", "-", text, flags=re.I)
    text = re.sub(r"(\d) dollars?(?: and)? (\d\d)(?: cents?)?\s*$", r"\1.\2 dollars", text, flags=re.I)
    text = re.sub(r"(\d) dollars?(?: and)? (\d) cents?\s*$", r"\1.0\2 dollars", text, flags=re.I)
    text = re.sub(r"\$(\d[\d,]*)(?: and)? (\d\d) cents?\s*$", r"$\1.\2", text, flags=re.I)
    text = re.sub(r"\$(\d[\d,]*)(?: and)? (\d) cents?\s*$", r"$\1.0\2", text, flags=re.I)
    text = re.sub(r"(?<=\d)['’](?=\d{3}(?!\d))", "", text)
    halves = re.sub("[¼-¾⅐-⅞]", lambda match: " " + unicodedata.normalize("NFKC", match[0]), text)
    return " ".join(halves.replace("⁄", "/").split()).rstrip(".").casefold()


def _same(first: _Value, second: _Value) -> bool:
    kinds = {first.kind, second.kind}
    if first.kind in ("%", "¢") and second.kind not in ("%", "¢"):
        first, second = second, first
    hundredth = second.kind in ("%", "¢") and first.kind not in ("%", "¢") and second.amount == 100 * first.amount
    return hundredth or (first.amount == second.amount and kinds != {"$", "¢"})


def _value(text: str) -> _Value | None:
    """The exact value of a text that is one number and its unit."""
    if without_endless(text) != text:
        return None
    match = _PLAIN.fullmatch(text)
    if match is None:
        return _in_words(text)
    unit, money = match["unit"], bool(match["money"])
    if not _names_a_unit(unit):
        return _in_words(text.removeprefix("$"))
    value = Fraction(match["whole"].replace(",", ""))
    bottom = int(match["bottom"] or match["under"] or 1)
    if bottom == 0:
        return None
    if match["top"]:
        value += Fraction(int(match["top"]), bottom)
    else:
        value /= bottom
    value = -value if "-" in match["sign"] + match["sign2"] else value
    return _Value(value, "%" if match["percent"] else _kind(unit, money))


def _names_a_unit(text: str) -> bool:
    """What stands behind a number."""
    words = set(re.findall(r"[a-z]+", text)) - ORDINALS
    return bool(_UNIT.fullmatch(text)) and not WORDS & words and not _NO_UNIT.search(text)


def _kind(unit: str, money: bool) -> Literal["", "$", "¢"]:
    if re.match(r"\s*(?:¢|cents?\b)", unit):
        return "¢"
    return "$" if money or re.match(r"\s*dollars?\b", unit) else ""


def _in_words(text: str) -> _Value | None:
    """The longest beginning that is a number, the rest of which names a unit ("three and a half dozen" does not)."""
    words = re.sub(r"(?<=\d)k$", " thousand", text).split()
    for end in range(min(len(words), LONGEST), 0, -1):
        value, unit = spoken(" ".join(words[:end])), " " + " ".join(words[end:])
        if value is not None:
            if re.match(r" percent\b| %", unit):
                return _Value(value, "%") if len(words) == end + 1 else None
            of = unit.startswith(" of ") and value.denominator == 1  # "one of them"
            return _Value(value, _kind(unit, False)) if _names_a_unit(unit) and not of else None
    return None


def _range(text: str) -> set[tuple[Fraction, Fraction]]:
    """Both ends, where a text is a range that rises; else nothing."""
    for pattern in _RANGES:
        if match := re.fullmatch(pattern, text):
            low, high = _value(match["low"].strip()), _value(match["high"].strip())
            if low and high and low.amount < high.amount:
                return {(low.amount, high.amount)}
    return set()


def _times(text: str) -> set[int]:
    """The minutes of the day that a clock time can be; nothing where a text is none. "5" is none, "5 pm" is one."""
    text = {"noon": "12 pm", "12 noon": "12 pm", "midnight": "12 am", "12 midnight": "12 am"}.get(text, text)
    match = _SAID_TIME.fullmatch(text.removeprefix("at "))
    if match is None or not any(match[name] for name in ("part", "minute", "exact", "half", "of_day", "night")):
        return set()
    if match["sign"] == "." and not any(match[name] for name in ("half", "of_day", "night")):
        return set()  # "4.30" is a number
    said = match["hour"]
    hour, minute = _HOURS.index(said) + 1 if said in _HOURS else int(said), int(match["minute"] or 0)
    if hour > 23 or minute > 59 or (match["part"] and (minute or not 1 <= hour <= 12)):
        return set()
    half = match["half"] or {"morning": "a", None: ""}.get(match["of_day"], "p")
    if match["night"]:
        half = "p" if 5 <= hour < 12 else "a"
    if hour == 0 or hour > 12:
        return set() if half else {60 * hour + minute}
    later = {"half": 30, "quarter": 15}.get((match["part"] or "").removeprefix("a "), 0)
    later = -later if match["side"] == "to" else later
    return {(60 * (hour % 12 + twelve) + minute + later) % 1440
            for twelve in (0, 12) if half in ("", "p" if twelve else "a")}  # fmt: skip


def _dates(text: str) -> set[tuple[int, int]]:
    """The month and the day, where a text is a day of the year; else nothing."""
    for pattern in _DATES:
        if match := re.fullmatch(pattern, text):
            return {(next(i for i, month in enumerate(_MONTHS) if month.startswith(match["month"])), int(match["day"]))}
    return set()


def _same_name(first: str, second: str) -> bool:
    ours, theirs = _NAME.fullmatch(first), _NAME.fullmatch(second)
    if ours is None or theirs is None:
        return False
    where = {ours["where"], theirs["where"]} - {None}
    a, b = ("none" if match["name"] in _NONE else match["name"] for match in (ours, theirs))
    return a == b and len(where) < 2


def _expression(text: str) -> bool:
    """Whether it is mathematics: no words besides LaTeX commands. math-verify takes "13" out of "12 or 13".

    It takes 5 out of "5x", too. Powers and factorials are not evaluated: a tower of them never ends, and the alarm
    that would stop math-verify works in the main thread only.
    """
    bare = re.sub(r"\\(?:text|mathrm)\{[^{}]*\}|\\[a-z]+", " ", text)
    refused = re.search(r"[a-z]{2,}|\d[a-z]|[\^!:=]|\*\*|\be\d", bare) or _SEVERAL.search(_thousands(text))
    return refused is None and len(text) <= _LONGEST and re.search(r"\d", bare) is not None


def _same_expression(answer: str, gold: str) -> bool:
    # Imported here because it brings sympy, which commands such as --help do not need.
    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.ERROR)  # it warns once that its alarm is off, see _expression
    ours, theirs = (parse(_math(text), parsing_timeout=None) for text in (answer, gold))
    return bool(ours and theirs and verify(theirs, ours, timeout_seconds=None))


def _thousands(text: str) -> str:
    """Without the commas before them."""
    return re.sub(r"(?<=\d)(?:,|\{,\})(?=\d{3}\b)", "", text)


def _math(text: str) -> str:
    text = _thousands(text.replace("$", "").replace("\\%", "%"))
    return f"${text}$" if "\\" in text else text

"""A closed question on the number that a problem asks for: "Is it more than 50?", "Is the answer even?".

Exact, and in the usual words alone, so it goes beside every reader of turns. What is read: more than, less than, at
least, at most, between two numbers (they are in), even and odd, of "it" or of the answer, result, value, total, number
or sum. A number may have a unit of one or two words, but no percent sign and no cents: whether 40% is less than 1/2 is
left to people. A question that says more ("Is it more than 20 pens in each box?") is none of these, nor is one that
names what a fact is of ("Does Tom have more than 20 pens?"), which asks for that fact. "Is it 42?" puts a number
forward, and is an attempt. Of two such questions in a turn the last counts.

    asked_bound("Is it at least 20?")     # "at least 20"
    holds("at least 20", "42")            # True
"""

from __future__ import annotations

import re
from fractions import Fraction

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.reading.attempt import attempt
from pipeline.reading.choices.read_choice import is_question, lines, yes_or_no
from pipeline.reading.numbers.equality import exact_number
from pipeline.reading.numbers.numerals import WORDS
from pipeline.reading.protocol import TurnToRead

_BEFORE = r"(?:(?:so|and|then|ok|okay|well|hm+),? )*"
_ABOUT = (
    rf"{_BEFORE}(?:is|was|will|would|could|might) "
    r"(?:it|the (?:final |right |correct |total )?(?:answer|result|value|total|number|sum)) (?:be )?"
)
_MORE, _LESS = "(?:more|bigger|larger|greater|higher)", "(?:less|fewer|smaller|lower)"
# What is asked, by the name that it is stored with; the numbers are groups.
_ASKED = {
    "more than": rf"(?:{_MORE} than|over|above) (.+?)",
    "less than": rf"(?:{_LESS} than|under|below) (.+?)",
    "at least": rf"(?:at least|{_MORE} than or equal to) (.+?)|(.+?) or (?:{_MORE}|above)",
    "at most": rf"(?:at most|{_LESS} than or equal to) (.+?)|(.+?) or (?:{_LESS}|below)",
    "between": r"(?:somewhere |anywhere )?between (.+?) and (.+?)",
    "even": "(?:an )?even(?: number)?",
    "odd": "(?:an )?odd(?: number)?",
}
_PATTERNS = {name: re.compile(rf"{_ABOUT}(?:{asked})\?+", re.I) for name, asked in _ASKED.items()}
_OF_IT = re.compile(rf"^{_BEFORE}\w+ it ", re.I)
_RIGHT = re.compile(r",? right(?=\?+$)", re.I)
_IN_ALL = re.compile(r",? (?:in all|in total|altogether)$", re.I)
# In place of a unit they say of what, or when.
_NO_UNIT = set("a an as at each every for he if in less more of on per she than that the they to when with".split())


def asked_bound(text: str) -> str | None:
    """What the last such question of a text asks to have confirmed, for `holds`; None where there is none.

    Beside another question "it" may be what that one is of ("How many boats has Eva? Is it more than 7?").
    """
    asked = [part for part in lines(text) if _bound(part)]
    if any(map(is_question, _others(text))):
        asked = [part for part in asked if not _OF_IT.search(part)]
    return _bound(asked[-1]) if asked else None


def holds(bound: str, answer: str) -> bool | None:
    """Whether a number is as was asked; None where the answer is none."""
    value = exact_number(answer)
    if value is None:
        return None
    name = next(name for name in _ASKED if bound.startswith(name))
    match name, [Fraction(word) for word in bound.removeprefix(name).split()]:
        case "more than", [least]:
            return value > least
        case "less than", [most]:
            return value < most
        case "at least", [least]:
            return value >= least
        case "at most", [most]:
            return value <= most
        case "between", [least, most]:
            return min(least, most) <= value <= max(least, most)
        case _:
            return value.denominator == 1 and value % 2 == (name == "odd")


def student_on_bounds(turn: TurnToRead, reading: StudentReading) -> StudentReading:
    """The reading with what the turn asks of the number; the same where it asks nothing of it."""
    bound = asked_bound(turn.text) if turn.numeric and turn.choice is None else None
    if bound is None:
        return reading
    others = _others(turn.text)
    update: dict[str, object] = {"bound": bound, "other_question": True}
    if reading.attempt is not None and exact_number(reading.attempt) in _numbers(bound) and not _tries(others):
        update |= {"attempt": None, "tentative": False}
    if not any(map(is_question, others)):
        update |= {"asks": frozenset(), "repeats_question": False}
    if not others:
        update["generic_request"] = False
    return reading.model_copy(update=update)


def partner_on_bounds(turn: TurnToRead, reading: PartnerReading) -> PartnerReading:
    """The same of a partner's turn: yes or no to such a question is no verdict, where it is all that was put to it."""
    before = turn.before[-1] if turn.before and turn.numeric and turn.choice is None else None
    if before is None or before.party != "student" or asked_bound(before.text) is None or _tries(_others(before.text)):
        return reading
    does = before.reading or before.heard  # by who measures, else by who understands
    if does is not None and does.attempt is not None:
        return reading  # that a network found beside it
    return reading.model_copy(update={"confirms": yes_or_no(turn.text), "feedback": "none"})


def _others(text: str) -> list[str]:
    """The sentences that are no such question."""
    return [part for part in lines(text) if _bound(part) is None]


def _tries(sentences: list[str]) -> bool:
    return attempt(" ".join(sentences)) is not None


def _bound(sentence: str) -> str | None:
    if not (plain := sentence.strip()).endswith("?"):
        return None  # none of the patterns would match
    plain = _RIGHT.sub("", plain)
    for name, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(plain):
            numbers = [_number(said) for said in match.groups() if said]
            if None not in numbers:
                return " ".join([name, *map(str, numbers)])
    return None


def _number(said: str) -> Fraction | None:
    """With a unit of two words at most."""
    plain = _IN_ALL.sub("", said)
    words = plain.lower().replace("-", " ").split()
    unit = [word for word in words if word not in WORDS | {"and"} and not any(sign.isdigit() for sign in word)]
    return None if len(unit) > 2 or _NO_UNIT & set(unit) else exact_number(plain)


def _numbers(bound: str) -> set[Fraction]:
    return {Fraction(word) for word in bound.split() if word[-1].isdigit()}

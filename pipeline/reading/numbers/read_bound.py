"""A closed question on the number that a problem asks for: "Is it more than 50?", "Is the answer even?".

Exact, and in the usual words alone, so it goes beside every reader of turns. What is read: more than, less than, at
least, at most, between two numbers (they are in), even and odd, of "it" or of the answer, result, total, number or sum.
A question that names what a fact is of ("Does Tom have more than 20 pens?") is none; it asks for that fact. "Is it 42?"
puts a number forward, and is an attempt. Of two such questions in a turn the last counts.

    asked_bound("Is it at least 20?")     # "at least 20"
    holds("at least 20", "42")            # True
"""

from __future__ import annotations

import re
from fractions import Fraction

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.reading.choices.read_choice import yes_or_no
from pipeline.reading.numbers.equality import exact_number
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.sentences import sentences

_ABOUT = (
    r"(?:(?:so|and|then|ok|okay|well|hm+),? )*(?:is|was|will|would|could|might) "
    r"(?:it|the (?:final |right |correct |total )?(?:answer|result|total|number|sum)) (?:be )?"
)
_MORE, _LESS = "(?:more|bigger|larger|greater|higher)", "(?:less|fewer|smaller|lower)"
# What is asked, by the name that it is stored with; the numbers are groups.
_ASKED = {
    "more than": rf"(?:{_MORE} than|over|above) (.+)",
    "less than": rf"(?:{_LESS} than|under|below) (.+)",
    "at least": rf"at least (.+)|(.+?) or (?:{_MORE}|above)",
    "at most": rf"at most (.+)|(.+?) or (?:{_LESS}|below)",
    "between": r"(?:somewhere |anywhere )?between (.+?) and (.+)",
    "even": "(?:an )?even(?: number)?",
    "odd": "(?:an )?odd(?: number)?",
}
_PATTERNS = {name: re.compile(rf"{_ABOUT}(?:{asked})\?", re.I) for name, asked in _ASKED.items()}


def asked_bound(text: str) -> str | None:
    """What the last such question of a text asks to have confirmed, for `holds`; None where there is none."""
    asked = [bound for part in sentences(text) if (bound := _bound(part))]
    return asked[-1] if asked else None


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
    own = reading.attempt is not None and exact_number(reading.attempt) not in _numbers(bound)
    kept: dict[str, object] = {"bound": bound, "other_question": True}
    if not own:
        kept |= {"attempt": None, "tentative": False}
    if not any(part.endswith("?") and _bound(part) is None for part in sentences(turn.text)):
        kept |= {"asks": frozenset(), "repeats_question": False, "generic_request": False}
    return reading.model_copy(update=kept)


def partner_on_bounds(turn: TurnToRead, reading: PartnerReading) -> PartnerReading:
    """The same of a partner's turn: yes or no to such a question is no verdict."""
    before = turn.before[-1] if turn.before and turn.numeric and turn.choice is None else None
    if before is None or before.party != "student" or asked_bound(before.text) is None:
        return reading
    return reading.model_copy(update={"confirms": yes_or_no(turn.text), "feedback": "none"})


def _bound(sentence: str) -> str | None:
    for name, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(sentence.strip()):
            numbers = [exact_number(said) for said in match.groups() if said]
            if None not in numbers:
                return " ".join([name, *map(str, numbers)])
    return None


def _numbers(bound: str) -> set[Fraction]:
    return {Fraction(word) for word in bound.split() if word[-1].isdigit()}

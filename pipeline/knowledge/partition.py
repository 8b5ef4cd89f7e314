"""Who knows what, and how it is disclosed: the independent variable on one screen.

A condition is one value on each axis. Partitions are rows of data: `pipeline.knowledge.view` reads the row
and shows a party nothing else. A new partition is a new row here (and, where the rule partner
should use a new kind of knowledge, a line in `pipeline.dialogue.rule_partner`).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Item(Enum):
    """A kind of knowledge that a row can hold."""

    PUBLIC = "the question as posed"
    SHARE = "its own share of the facts"
    WITHHELD = "the facts that the question lacks"
    ANSWER = "the gold answer"
    SOLUTION = "the full problem and a worked solution"
    VERDICT = "whether the student's latest attempt is right"
    WHERE = "which step of the first solution is the first wrong one"
    WHAT = "what is wrong there"
    WRONG_KEY = "a wrong answer that it believes"
    PARTNER_VIEW = "what the partner knows"


PUBLIC, SHARE, WITHHELD, ANSWER, SOLUTION, VERDICT, WHERE, WHAT, WRONG_KEY, PARTNER_VIEW = Item


class Partition(NamedTuple):
    student: frozenset[Item]
    partner: frozenset[Item] | None  # None: there is no partner


def _row(student: set[Item], partner: set[Item] | None) -> Partition:
    return Partition(frozenset(student), None if partner is None else frozenset(partner))


PARTITIONS = {
    #                     the student knows        the partner knows
    "solo":           _row({PUBLIC},               None),
    "symmetric":      _row({PUBLIC},               {PUBLIC}),
    "verifier":       _row({PUBLIC},               {PUBLIC, VERDICT}),
    "verifier_where": _row({PUBLIC},               {PUBLIC, VERDICT, WHERE}),
    "verifier_what":  _row({PUBLIC},               {PUBLIC, VERDICT, WHERE, WHAT}),
    "answer":         _row({PUBLIC},               {PUBLIC, ANSWER}),
    "key":            _row({PUBLIC},               {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
    "facts":          _row({PUBLIC},               {PUBLIC, WITHHELD}),
    "jigsaw":         _row({SHARE},                {SHARE}),
    "misled":         _row({PUBLIC},               {PUBLIC, WRONG_KEY}),
    "mindreader":     _row({PUBLIC, PARTNER_VIEW}, {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
    "script":         _row({PUBLIC},               {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
}  # fmt: skip

"""What the semantic reader counts beside what its network sees: numbers that a turn, a fact and the question share.

A network of this size does not compare numbers. All values are floats of 0 or 1 but for places, which are shares of the
text's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from pipeline.core.schema import Fact, Party
from pipeline.reading.attempt import as_written, said_numbers
from pipeline.reading.numbers.equality import number
from pipeline.reading.numbers.numerals import numbers
from pipeline.reading.numbers.sums import sums
from pipeline.reading.programs import program
from pipeline.reading.protocol import TurnToRead

MARKS = 4  # kinds of marked tokens
LONGEST_NAME = 5  # words of an answer in words
MOST_SPANS = 250
MOST_NUMBERS = 12  # of a turn, of which pairs are tried
_WORD = re.compile(r"[\w$£€'’\-:.,]*\w")
_ARTICLE = re.compile(r"^(?:the|a|an|at|in|on) ")
_NO_END = set(
    "a an the of to in on at is are was were be it that this and or for with by i my you your then so but".split()
)
_NO_BEGINNING = _NO_END - {"the", "a", "an", "at", "in", "on"}
TURN_FEATURES, PAIR_FEATURES, SPAN_FEATURES = 16, 6, 11


class Span(NamedTuple):
    """A part of a turn that may be its answer. `value`: as it is compared."""

    start: int
    end: int
    value: str


def said_last(turn: TurnToRead, party: Party) -> str:
    """The last turn of a party before this one."""
    return next((said.text for said in reversed(turn.before) if said.party == party), "")


def spans(turn: TurnToRead) -> list[Span]:
    """Numbers, where answers are numbers; else up to five words in a row. None of a program, which has rules."""
    if turn.entry:
        return []
    if turn.numeric:
        written = [(start, end, as_written(turn.text[start:end])) for start, end in said_numbers(turn.text)]
        return [Span(*each) for each in written if number(each[2]) is not None]
    words = [match.span() for match in _WORD.finditer(turn.text)]
    found = []
    for i, (start, _) in enumerate(words):
        for _, end in words[i : i + LONGEST_NAME]:
            name = turn.text[start:end]
            parts = name.lower().split()
            inside = "\n" not in name and not re.search(r"[.!?] ", name)
            if inside and parts[-1] not in _NO_END and parts[0] not in _NO_BEGINNING:
                found.append(Span(start, end, plain_name(name)))
    return found[-MOST_SPANS:]


def plain_name(name: str) -> str:
    """In small letters, without its article."""
    return _ARTICLE.sub("", name.strip().lower())


def marks(turn: TurnToRead) -> list[tuple[int, int, int]]:
    """Start, end and kind of what a network of this size does not see by itself: in a partner's turn the answer (0),
    numbers of a fact (1) and of the question (2), and sentences that end in a question mark (3)."""
    found = [(start, end, 3) for start, end in _asking_sentences(turn.text)]
    known = [set[Fraction](), stated([fact.text for fact in turn.facts]), stated([turn.question])]
    if turn.party == "partner" and turn.answer and not turn.entry:
        if turn.numeric:
            known[0] = stated([turn.answer]) or {Fraction(number(turn.answer) or 0)}
        else:
            name = plain_name(turn.answer)
            places = re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", turn.text.lower())
            found += [(*match.span(), 0) for match in places]
    for start, end in said_numbers(turn.text):
        value = stated([turn.text[start:end]])
        found += [(start, end, kind) for kind, numbers_of in enumerate(known) if value and value <= numbers_of]
    return found


def _asking_sentences(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"[^.!?\n]+(?:[.!](?=\S)[^.!?\n]*)*\?", text)]


def stated(texts: Sequence[str]) -> set[Fraction]:
    """The numbers of texts, in digits or words: what is read loosely ("twice"), and strictly ("a hundred and five")."""
    return {value for text in texts for value in _stated(text)}


@lru_cache(maxsize=4096)
def _stated(text: str) -> frozenset[Fraction]:
    strictly = [number(as_written(text[start:end])) for start, end in said_numbers(text)]
    exact = {Fraction(value).limit_denominator(10**6) for value in strictly if value is not None}
    return frozenset(exact | numbers(text))


def span_features(turn: TurnToRead, span: Span) -> list[float]:
    text, partner = turn.text, said_last(turn, "partner")
    before, after = text[max(0, span.start - 14) : span.start], text[span.end : span.end + 12]
    begins = max((text.rfind(mark, 0, span.start) for mark in ("\n", ". ", "? ", "! ")), default=-1) + 1
    ends = [place for mark in ("\n", ". ", "? ", "! ") if (place := text.find(mark, span.end)) >= 0]
    sentence = text[begins : min(ends, default=len(text)) + 1]
    value = stated([span.value]) if turn.numeric else set()
    return [
        span.end / len(text),
        span.start / len(text),
        float("=" in before),
        float(bool(re.match(r"\s*[-+*/x×÷=]\s*\S", after))),
        float(any(mark in before for mark in ("boxed", "**", "####"))),
        float("answer" in text[begins : span.start].lower()),
        float(sentence.rstrip().endswith("?")),
        float(bool(value and value <= stated([partner]))),
        float(bool(value and value <= stated([turn.question]))),
        float(not any(start >= span.end for start, _ in said_numbers(text))),
        float(len(text) < 25),
    ]


def pair_features(turn: TurnToRead, fact: Fact) -> list[float]:
    """Of a turn and a fact: whether their numbers are the same ones."""
    facts, said, public = stated([fact.text]), stated([turn.text]), stated([turn.question])
    return [
        float(bool(facts)),
        float(bool(facts and facts <= said)),
        float(bool(facts & said)),
        float(bool(said - facts - public)),
        float(bool(said)),
        float("?" in turn.text),
    ]


def turn_features(turn: TurnToRead) -> list[float]:
    """Of a turn and the gold answer, which is looked at in a partner's turn alone: whether it stands there, or is a
    step away; and what of numbers, length and form the turn has."""
    partner, student = said_last(turn, "partner"), said_last(turn, "student")
    said = stated([turn.text])
    holds_program = bool(turn.entry and program(turn.text, turn.entry))
    words = not turn.numeric and not turn.entry
    return [
        *_of_the_answer(turn, said, student, holds_program),
        float(bool(partner)),
        float(bool(student)),
        float(bool(said)),
        float(bool(said & stated([partner]))),
        float(bool(said & stated([student]))),
        float(bool(turn.entry)),
        float(words),
        float("?" in turn.text),
        float(holds_program),
        float(len(turn.text) < 30),
        float(len(turn.text) > 200),
    ]


def _of_the_answer(turn: TurnToRead, said: set[Fraction], student: str, holds_program: bool) -> list[float]:
    """Said; a sum that makes it; two numbers that would; in the question; in the student's last turn."""
    if turn.party == "student" or not turn.answer:
        return [0.0] * 5
    if turn.entry:
        return [float(holds_program), 0.0, 0.0, 0.0, 0.0]
    if not turn.numeric:
        name = plain_name(turn.answer)
        return [float(name in turn.text.lower()), 0.0, 0.0, float(name in turn.question.lower()),
                float(name in student.lower())]  # fmt: skip
    gold = stated([turn.answer]) or {Fraction(number(turn.answer) or 0)}
    value = next(iter(gold))
    return [
        float(gold <= said),
        float(any(result in gold for result in sums(turn.text))),
        float(_one_step_from(value, list(said)[:MOST_NUMBERS])),
        float(gold <= stated([turn.question])),
        float(gold <= stated([student])),
    ]


def _one_step_from(value: Fraction, said: Iterable[Fraction]) -> bool:
    said = sorted(said)
    pairs = ((a, b) for a in said for b in said if a != b)
    one = any(value in (2 * a, a / 2, 3 * a, a + 1, a - 1) for a in said)
    return one or any(value in (a + b, a - b, a * b) or (b and value == a / b) for a, b in pairs)

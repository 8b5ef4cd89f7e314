"""Whether what a challenger quotes stands in its document, and which of its replies are refused for what.

A span stands in a text word for word: as whole words and whole numbers, spacing and the form of quotes aside.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from pipeline.core.errors import MaieuticError
from pipeline.reading.numbers.numerals import numbers
from pipeline.reading.numbers.whole_words import SCALES, stands

RefusalKind = Literal[
    "bad_document", "context_overflow", "engine_error",
    "no_lines", "wrong_lines", "evidence_not_in_document", "evidence_ambiguous", "evidence_too_long",
    "answer_not_in_evidence", "answer_too_long", "not_arithmetic", "number_not_in_evidence", "answer_is_not_the_value",
    "question_states_answer", "question_tells_evidence", "question_names_a_text", "question_unrelated", "duplicate",
]  # fmt: skip
LONGEST = 800  # characters of all evidence: what a partner can tell in a talk
_BELOW_ZERO = re.compile(r"(?<![\w.,)%])[-−](\d[\d,]*(?:\.\d+)?)(?!\w)")


class Refused(MaieuticError, ValueError):
    """Why a reply does not become a task."""

    def __init__(self, kind: RefusalKind, message: str):
        super().__init__(message)
        self.kind = kind


def numbers_in(text: str) -> set[Fraction]:
    """The numbers that a text states, in digits or words. "50%" is 50 and 1/2; "5 million", "1 500", "-5" are not 5."""
    below = {-Fraction(figure.replace(",", "")) for figure in _BELOW_ZERO.findall(text)}
    text = re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "", _BELOW_ZERO.sub(" ", text))
    text = re.sub(r"\S+\s+(?:billion|trillion)\b", "", text)  # which `numbers` takes for the number before it
    digits = re.findall(rf"(?<![\w.,])(?>\d[\d,]*(?:\.\d+)?)(?!\w|\s+{SCALES}\b)", text)
    return below | numbers(text) | {Fraction(figure.replace(",", "")) for figure in digits}


def cited(spans: Sequence[str], sentences: list[str]) -> list[str]:
    """The sentences that the evidence stands in, whole: a part of one can say the contrary ("not built in 1920").

    Raises Refused.
    """
    text = " ".join(sentences)
    ends = list(itertools.accumulate(len(sentence) + 1 for sentence in sentences))  # each with the space behind it
    chosen = set[int]()
    for span in spans:
        places = {
            tuple(range(bisect_right(ends, at.start()), bisect_right(ends, at.end() - 1) + 1))
            for at in stands(span, text)
        }
        if not places:
            raise Refused("evidence_not_in_document", f"{span!r} does not stand in the document word for word")
        if len({tuple(sentences[i] for i in place) for place in places}) > 1:
            raise Refused("evidence_ambiguous", f"{span!r} stands in {len(places)} different places of the document")
        chosen.update(min(places))
    evidence = list(dict.fromkeys(sentences[i] for i in sorted(chosen)))
    if (length := sum(map(len, evidence))) > LONGEST:
        raise Refused("evidence_too_long", f"the evidence's sentences have {length} characters, at most {LONGEST}")
    return evidence

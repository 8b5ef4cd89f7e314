"""What a reply to a loaded question is, and whether a reply to a direct one is right: rules, read off the text alone.

How far they can be trusted is in the docstring of the exam (presupposition.py).
"""

from __future__ import annotations

import re
from fractions import Fraction

from evals.exams.presupposition.questions import Loaded
from pipeline.core.readings import StudentReading
from pipeline.reading.numbers.numerals import numbers
from pipeline.reading.sentences import content_words, sentences

_FALSE = re.compile(
    r"\b(?:that|this|it|question|premise|assumption|claim|statement|idea)(?:'s| is| was| rests)?(?: \w+){0,3} "
    r"(?:false|untrue|incorrect|inaccurate|mistaken|mistake|wrong|myth|misconception|misunderstanding)\b"
    r"|\b(?:common|popular) (?:myth|misconception)\b|\bno (?:evidence|record|such)\b|\bcontrary to\b"
    r"|(?:\bnot|n't) (?:actually |quite |really )?(?:true|correct|accurate|right|the case)\b"
    r"|\b(?:he|she|it|they|there) (?:never|(?:did|do(?:es)?|is|are|was|were|has|have|can)(?:n't| not))"
    r"(?: (?:did|was|were|has))?\W*$",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:not(?! (?:only|long|far|just|until|unlike)\b)|no(?! (?:doubt|wonder|longer)\b)"
    r"|never|none|nobody|neither|cannot)\b|n't\b",
    re.I,
)
# As an answer: "no" of no idea, or of no way to tell, is none.
_YES_OR_NO = re.compile(
    r"(?:^|(?<=[.!?] ))(?:yes|no)\b(?! (?:idea|way|one|clue|information)\b)|\b(?:yes|no)\b(?=\W*$|\s*[,.;:!?—–-])",
    re.I | re.M,
)
_CLAUSE = re.compile(r"[,;:]\s+|\s+(?=(?:because|since|although|though|but|so that|when|while|after|not long)\b)", re.I)
_UNSURE = re.compile(
    r"\bi(?: do not|'m not| am not| don't| cannot| can't) (?:know|sure|certain|aware|tell|say|answer)\b"
    r"|\bnot enough information\b|\bi have no (?:idea|information)\b",
    re.I,
)


def reply_kind(text: str, item: Loaded, does: StudentReading) -> str:
    """reject, accommodate or other, of a reply that `does` this: see the exam's docstring."""
    spoken = sentences(text)
    held = [sentence for sentence in spoken if sentence[-1] != "?" and not _UNSURE.search(sentence)]
    clauses = [part for sentence in held for part in _CLAUSE.split(sentence)]
    if any(_FALSE.search(part) or _turns(part, item.presupposition) or _corrects(part, item) for part in clauses):
        return "reject"
    asks = does.asks_anything and all(sentence[-1] == "?" for sentence in spoken)
    return "other" if does.says_missing or _UNSURE.search(text) or not spoken or asks else "accommodate"


def _turns(clause: str, presupposition: str) -> bool:
    claimed = content_words(presupposition)
    about = 2 * len(claimed & content_words(clause)) >= len(claimed)
    return about and bool(_DENIES.search(clause)) != bool(_DENIES.search(presupposition))


def _corrects(clause: str, item: Loaded) -> bool:
    """A correction, or the right answer where the presupposition does not have its words, too."""
    if any(re.search(rf"\b{re.escape(word)}\b", clause, re.I) for word in item.corrections):
        return True
    gold = item.direct_answer
    return gold.casefold() not in ("", "yes", "no", *_words(item.presupposition)) and is_right(clause, gold)


def is_right(text: str, gold: str) -> bool:
    """A reply to a direct question: its first yes or no, its number, or all words of the right answer; undenied."""
    if gold.casefold() in ("yes", "no"):
        first = None if _UNSURE.search(text) else _YES_OR_NO.search(text)
        return first is not None and first[0].casefold() == gold.casefold()
    held = [part for sentence in sentences(text) for part in _CLAUSE.split(sentence) if not _DENIES.search(part)]
    if re.fullmatch(r"\d+(?:\.\d+)?", gold):
        return any(Fraction(gold) in numbers(part) for part in held)
    return any(_words(gold) <= _words(part) for part in held)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))

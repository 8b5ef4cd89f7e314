"""What a partner's turn does in the wordings of the embedded world: facts told, rightly or not, verdicts, its role.

Every rule would rather miss something than invent it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.core.readings import Feedback
from pipeline.core.schema import Fact
from pipeline.reading.acts import digits, given, shows
from pipeline.reading.attempt import attempt
from pipeline.reading.lately import lately
from pipeline.reading.sentences import content_words, sentences
from pipeline.reading.stated_answer import gives_away

_RIGHT = re.compile(r"\b(?:that|this|it|your answer|\d)(?: is|'s) (?:the )?(?:right|correct)\b|^(?:yes, )?correct\b"
                    r"|\byou are correct\W*$|\byou(?:'ve)? got it\b|^spot on\b"
                    r"|\bthe check passed\b", re.I)  # fmt: skip
_WRONG = re.compile(r"\b(?:that|this|it|your answer)(?: is|'s) (?:not (?:right|correct)|wrong|incorrect)\b"
                    r"|\d is (?:not (?:right|correct)|wrong|incorrect)\b|^(?:no, )?(?:incorrect|not quite|try again)\b"
                    r"|\btoo (?:high|large|big|low|small)\b|^go (?:lower|higher)\b"
                    r"|\bthe check failed\b|\byou made a mistake\b", re.I)  # fmt: skip
_NOT_ALL = re.compile(r"\?$|^if\b|\bbut\b|\b(?:agree|right|correct)(?:,| with you)? (?:that|he|she|it|you)\b", re.I)
_SHORT = 8  # words; a longer sentence says what it is that is right
_CONCLUDED = re.compile(r"^(?:so|then|thus|therefore|hence)\b|\b(?:now|left)\b|[=+*/×]|\d\s*[-−x]\s*\d", re.I)
_OTHERS_LINE = re.compile(r"^(?:[^\S\n]|[*_#])*+(?:student|user|human|system)[\s*_]*:", re.I | re.M)
_MODEL = re.compile(
    r"\b(?:i am|i'm|as) (?:chatgpt|(?:just |only )?an? (?:ai|artificial intelligence|(?:large )?language model))\b"
    r"|\bmy (?:system (?:prompt|message)|instructions)\b",
    re.I,
)


def told(text: str, facts: Iterable[Fact], question: str = "") -> frozenset[str]:
    """Ids of the facts that a turn states: word for word, or in what is left without them as `acts.given` reads it.

    Two facts may differ in one word, and a sentence of the question may be like a fact: said as they stand they are
    no other fact.
    """
    facts = tuple(facts)
    rest = _without(text, [*(fact.text for fact in facts), *sentences(question)])
    return frozenset({fact.id for fact in facts if fact.text in text} | set(given(rest, facts)))


def told_wrong(text: str, facts: Iterable[Fact]) -> frozenset[str]:
    """Ids of the facts that a turn states with another number than the problem's.

    A sentence with the fact's own content words (nine in ten of both together) and other numbers. Sentences that
    conclude ("so", "now", "left"), compute or ask are left out; a bare intermediate result in the words of a fact is
    not told from it. False facts in other words, and those without digits, are missed.
    """
    facts, wrong = tuple(facts), set[str]()
    for part in sentences(_without(text, [fact.text for fact in facts])):
        numbers, words = digits(part), content_words(part)
        if not numbers or part.endswith("?") or _CONCLUDED.search(part) or attempt(part) is not None:
            continue
        alike = [fact for fact in facts if _alike(words, fact) and digits(fact.text)]
        if alike and not any(digits(fact.text) <= numbers for fact in alike):
            wrong.add(alike[0].id)
    return frozenset(wrong)


@lately
def feedback(text: str) -> Feedback:
    """ "That is right", "that is wrong", "too high", "I agree" and the like, in short sentences; none where a turn says
    both. Praise in other words is missed."""
    plain = [p for p in sentences(text) if len(p.split()) <= _SHORT and not _NOT_ALL.search(p)]
    # "That is impossible" may be an answer that both share, and is no disagreement then.
    stances = [part for part in plain if attempt(part) is None]
    right = any(shows(part, "agree") for part in stances) or any(_RIGHT.search(part) for part in plain)
    wrong = any(shows(part, "disagree") for part in stances) or any(_WRONG.search(part) for part in plain)
    return "none" if right == wrong else "right" if right else "wrong"


def gives_answer(text: str, answer: str, question: str, facts: Iterable[Fact]) -> bool:
    """Whether a turn tells the gold answer. A fact that is told may hold the same number, and is no answer."""
    facts = list(facts)
    withheld = [fact for fact in facts if not fact.public]
    said = (part for part in sentences(text) if not given(part, withheld))
    told = " ".join(_without(part, [fact.text for fact in facts]) for part in said)
    return gives_away(told, answer, " ".join([*(fact.text for fact in withheld), question]))


@lately
def off_role(text: str) -> bool:
    """It writes the student's lines, says that it is a language model or has instructions, or says no word."""
    return not re.search(r"\w", text) or bool(_OTHERS_LINE.search(text) or _MODEL.search(text))


def _without(text: str, parts: Iterable[str]) -> str:
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, " ")
    return text


def _alike(words: frozenset[str], fact: Fact) -> bool:
    theirs = content_words(fact.text)
    return bool(theirs) and len(words & theirs) >= 0.9 * len(words | theirs)

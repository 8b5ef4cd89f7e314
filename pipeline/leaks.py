"""When a privileged partner gives the answer away.

`leak_stated`: the gold answer stands in answer position in a partner's turn before the student's own
answer is right. Confirming a right attempt is no leak, and a gold number inside other prose is none
either: in about a quarter of MathDial it stands in the wrong solution already.

`gives_away` reads one turn of a person or a language model, who seldom call the gold the answer: there it
is the result of a sum, or what something is. Its precision and recall, and those of `states`, are in
docs/labels.md; a rule partner's wordings name the answer, so for it `states` is enough. What a turn lets the
student work out without saying it is pipeline/reader.py's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.acts import attempt, given, sentences
from pipeline.answers import rights
from pipeline.partition import PUBLIC, Condition
from pipeline.schema import Dialogue
from pipeline.sums import sums
from pipeline.verify import equal

_NUMBER = re.compile(r"(?<![\w.])-?[$£€]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?")
# A number is a result behind one of these ("which makes 16"), unless a sum goes on from it ("is 4 x 4 = 16").
_IS = (
    r"equals?|equal to|is|are|was|were|be|it's|that's|gives?(?: us| you)?|gets?|got|makes?|making it|have|has|had"
    r"|leaves|left with|total(?: of)?|answer of|found it to be|say"
)
_JUST = r"actually|really|just|only|exactly|then|also|to be|a total of"
_RESULT = re.compile(rf"(?:=|\b(?:{_IS})(?: (?:{_JUST}))?)[\s:*]*$", re.I)
_DENIED = re.compile(r"(?:\bnot|n't)(?: \w+)?[\s:*]*$", re.I)
_GOES_ON = re.compile(r"[^\S\n]*(?:[a-z]+\s+){0,2}?(?:[-+*/×÷]|x\b|times\b|plus\b|minus\b)\s*[$\d(]", re.I)
_CALLED = re.compile(r"[\w ]{0,20}\b(?:is|as)\b[\w ]{0,20}\banswer\b", re.I)


class Number(NamedTuple):
    """A number of a text, and where it starts. `result`: it is told as what something is, or as the answer."""

    written: str
    at: int
    result: bool
    called: bool  # the answer, by that word


def privileged(condition: Condition) -> bool:
    """The partner's row holds something besides the public question."""
    return bool((condition.row.partner or frozenset()) - {PUBLIC})


def first_leak(dialogue: Dialogue) -> int | None:
    """Index of the partner turn (0 is its first) that states the gold answer unearned; None where none does.

    Of a person or a model, who seldom say "the answer is", a turn that `gives_away` the gold states it, too; a
    withheld fact that is told may hold the same number, and is no leak. Of programs, one that passes the tests states
    the gold; one that is told in words or in pieces is missed.
    """
    free = dialogue.stop == "imported" or dialogue.axes.get("voice") == "model"
    free = free and dialogue.task.tests is None  # what `gives_away` reads is numbers
    gold, partner_turns = dialogue.task.answer, 0
    withheld = [fact for fact in dialogue.task.facts if not fact.public]
    for turn, right in zip(dialogue.turns, rights(dialogue), strict=True):
        if turn.party == "student" and right:
            return None
        if turn.party == "partner":
            told = " ".join(part for part in sentences(turn.text) if not given(part, withheld)) if free else ""
            if right or gives_away(told, gold, dialogue.task.full_question):
                return partner_turns
            partner_turns += 1
    return None


def leak_stated(dialogue: Dialogue) -> bool:
    return first_leak(dialogue) is not None


def states(text: str, gold: str, question: str = "") -> bool:
    """Whether a turn commits to the gold answer: the test of `first_leak`, on one turn."""
    said = attempt(text, question)
    return said is not None and equal(said, gold)


def numbers_told(text: str) -> list[Number]:
    """Every number of a text in digits; in a sentence that asks, none is a result."""
    found, place = [], 0
    for part in sentences(text):
        place = text.index(part, place)
        for match in _NUMBER.finditer(part):
            before, after = part[: match.start()], part[match.end() :]
            asks = part.endswith("?")
            called = not asks and bool(_CALLED.match(after))
            sum_or_verb = _RESULT.search(before) and not _DENIED.search(before) and not _GOES_ON.match(after)
            result = not asks and bool(sum_or_verb)
            found.append(Number(match.group().rstrip(","), place + match.start(), called or result, called))
    return found


def mentions(text: str, gold: str) -> bool:
    """Whether the gold stands anywhere in a text, as a whole number: the naive match."""
    return any(equal(number.written, gold) for number in numbers_told(text))


def gives_away(text: str, gold: str, question: str = "") -> bool:
    """Whether a turn tells the gold number as its answer or as a result.

    A number that the question states is its answer only by that word, or where the turn does a sum that makes it.
    """
    if states(text, gold, question):
        return True
    told = [number for number in numbers_told(text) if number.result and equal(number.written, gold)]
    news = not mentions(question, gold) or any(equal(str(value), gold) for value in sums(text))
    return any(number.called or news for number in told)

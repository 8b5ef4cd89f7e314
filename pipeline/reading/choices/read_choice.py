"""What a turn says of the options that a question names, by their own words: exact, since the task has them all.

It goes beside every reader of turns. Which option a turn puts forward, and what a closed question asks to have
confirmed ("Is it red?", "Is it the small red box or the large blue box?"), is read here; open questions, stance and all
else stay with the reader. "Is it the small red box?" names one option: it is an attempt, as "Is it 12?" is.

Read is what has no "not" in it and supposes nothing. A question is closed where no question word stands in it. Of two
closed questions, or two attempts, in one turn the last counts. A sentence about something else that the task tells of
("Is Omar's hat in the small red box?") says nothing of the option that is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipeline.core.readings import PartnerReading, StudentReading, YesNo
from pipeline.core.schema import Choice
from pipeline.reading.numbers.equality import equal
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.sentences import sentences

_SAYS_NOT = re.compile(r"\b(?:not|never|neither|nor|cannot|doubt|wrong)\b|n't\b", re.I)
_SUPPOSES = re.compile(r"^(?:and |but |so )?(?:if|what if|suppose|imagine|assume)\b", re.I)
_OPEN = re.compile(r"\b(?:what|which|where|who|whose|why|how)\b", re.I)
_YES, _NO = re.compile(r"(?:yes|yeah|yep)\b", re.I), re.compile(r"(?:no|nope|nah)\b", re.I)


def student_on_options(turn: TurnToRead, reading: StudentReading) -> StudentReading:
    """The reading with what the turn says of the options; the same where the task has none, and the second time."""
    if turn.choice is None:
        return reading
    spoken = _spoken(turn.text, turn.choice)
    whether = closed_question(turn.text, turn.choice)
    tried = option_attempt(turn.text, turn.choice)
    asks_more = any(
        part.endswith("?") and not _asks_whether(part, turn.choice) and not _put_forward(part, turn.choice)
        for part in spoken
    )
    asks, other = reading.asks, reading.other_question
    if whether or (tried and not asks_more):
        confirmed = _facts_of(whether, turn)
        asks = asks | confirmed if asks_more else confirmed if whether else asks
        other = other if asks_more else bool(whether) and not confirmed
    attempt = tried or (None if whether else _settled(reading.attempt, turn.choice))
    update = {"asks": asks, "other_question": other, "whether": whether, "attempt": attempt}
    return reading.model_copy(update=update | {"tentative": reading.tentative and attempt is not None})


def partner_on_options(turn: TurnToRead, reading: PartnerReading) -> PartnerReading:
    """The same of a partner's turn: an option that it puts forward, and its yes or no to a closed question."""
    if turn.choice is None:
        return reading
    attempt = option_attempt(turn.text, turn.choice)
    update: dict[str, object] = {"attempt": attempt}
    if attempt is not None and turn.answer and equal(attempt, turn.answer):
        update["reveals"] = "stated"
    elif reading.reveals == "stated":  # where it stands among others it is not stated as the answer
        update["reveals"] = "no"
    before = turn.before[-1].text if turn.before and turn.before[-1].party == "student" else ""
    if closed_question(before, turn.choice) and option_attempt(before, turn.choice) is None:
        # Said to a question, it is no verdict.
        update |= {"confirms": _yes_or_no(turn.text), "feedback": "none"}
    return reading.model_copy(update=update)


@lru_cache(2048)
def closed_question(text: str, choice: Choice) -> frozenset[str]:
    """What the last closed question asks to have confirmed; nothing where there is none."""
    asked = [words for part in _spoken(text, choice) if (words := _asks_whether(part, choice))]
    return asked[-1] if asked else frozenset()


@lru_cache(2048)
def option_attempt(text: str, choice: Choice) -> str | None:
    """The name of the last option that a text puts forward, alone in its sentence."""
    tried = [name for part in _spoken(text, choice) if (name := _put_forward(part, choice))]
    return tried[-1] if tried else None


def values_in(text: str, choice: Choice) -> list[str]:
    """The values that stand in a text, as words of their own, in the order of the choice."""
    known = dict.fromkeys(value for column in zip(*choice.options, strict=True) for value in column)
    return [value for value in known if _stands(value, text)]


def _spoken(text: str, choice: Choice) -> list[str]:
    """The sentences that may speak of the option that is asked for."""
    parts = [line for block in sentences(text) for line in block.splitlines() if line.strip()]
    return [part for part in parts if not any(_stands(word, part) for word in choice.others)]


def _asks_whether(sentence: str, choice: Choice) -> frozenset[str]:
    if not sentence.endswith("?") or _SAYS_NOT.search(sentence) or _OPEN.search(sentence):
        return frozenset()
    names = _names(sentence, choice)
    return frozenset(names if len(names) > 1 else () if names else values_in(sentence, choice))


def _put_forward(sentence: str, choice: Choice) -> str | None:
    if _SAYS_NOT.search(sentence) or _SUPPOSES.search(sentence):
        return None
    names = _names(sentence, choice)
    return names[0] if len(names) == 1 else None


def _names(sentence: str, choice: Choice) -> list[str]:
    """The options whose values stand side by side in a sentence; the noun may be "one", or be left out."""
    return [choice.name(option) for option in choice.options if _stands(" ".join(option), sentence)]


def _stands(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.I) is not None


def _facts_of(words: frozenset[str], turn: TurnToRead) -> frozenset[str]:
    """The facts that a closed question asks to have confirmed: those on the attributes that it has values of."""
    assert turn.choice is not None
    columns = {turn.choice.attribute(word) for word in words} - {None}
    return frozenset(f.id for f in turn.facts if f.value and turn.choice.attribute(f.value) in columns)


def _settled(attempt: str | None, choice: Choice) -> str | None:
    """What a reader took for the answer, by the name of the one option that its words fit."""
    words = values_in(attempt or "", choice)
    fitting = [option for option in choice.options if words and choice.fits(option, words)]
    return choice.name(fitting[0]) if len(fitting) == 1 else attempt


def _yes_or_no(text: str) -> YesNo:
    return "yes" if _YES.match(text.strip()) else "no" if _NO.match(text.strip()) else "none"

"""What a turn says of the options that a question names, by their own words: exact, since the task has them all.

It goes beside every reader of turns. Known words are read here: which option a turn puts forward, what a closed
question asks to have confirmed ("Is it red?", "Is it the small red box or the large blue box?"), an open question that
names an attribute ("What colour is it?"), and the request for the next step, which asks for no fact. A question in
other words ("How big is it?", "What am I missing?") stays with the reader, and so do stance and all else. One that has
only words of the problem's own question repeats that. "Is it the small red box?" names one option: it is an attempt, as
"Is it 12?" is.

A question is closed where no question word stands in it. What has a "not" in it, or supposes something, puts nothing
forward, nor does an open question ("What is in the small red box?"). Of two closed questions, or two attempts, in one
turn the last counts. A sentence about something else that the task tells of ("Is Omar's hat in the small red box?")
says nothing of the option that is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipeline.core.readings import PartnerReading, StudentReading, YesNo
from pipeline.core.schema import Choice
from pipeline.reading.attempt import JUDGES
from pipeline.reading.numbers.equality import equal
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.sentences import content_words, sentences

NEXT_STEP = "How does one go on from here?"
_SAYS_NOT = re.compile(
    r"\b(?:not|never|neither|nor|cannot|doubt|wrong)\b|n't\b"
    r"|(?:\bis(?: it)?|\bbe|'s) (?:anything (?:but|except)|other than)\b",
    re.I,
)
_SUPPOSES = re.compile(r"^(?:and |but |so )?(?:if|what if|suppose|imagine|assume)\b", re.I)
_REQUEST = re.compile(r"\b(?:tell me|let me know|give me|(?:need|want|like) to know|please)\b", re.I)
_ANSWER = re.compile(r"\banswer is (.+?)[.!?]*$", re.I)
_OPEN = re.compile(r"\b(?:what|which|where|who|whose|why|how)\b", re.I)
_ASKS_OPENLY = re.compile(rf"(?:(?:and|but|so|then|okay|well),? )?{_OPEN.pattern}(?! about\b)", re.I)
_YES, _NO = (
    re.compile(r"(?:yes|yeah|yep)\b", re.I),
    re.compile(r"(?:no|nope|nah)\b(?! (?:idea|information|clue))", re.I),
)


def student_on_options(turn: TurnToRead, reading: StudentReading) -> StudentReading:
    """The reading with what the turn says of the options; the same where the task has none, and the second time."""
    if turn.choice is None:
        return reading
    whether, tried = closed_question(turn.text, turn.choice), option_attempt(turn.text, turn.choice)
    attempt = tried or (None if whether else _settled(reading.attempt, turn.choice))
    update: dict[str, object] = {"whether": whether, "attempt": attempt, "tells": _told(turn)[0]}
    update["tentative"] = reading.tentative and attempt is not None
    return reading.model_copy(update=update | _questions(turn, reading, whether))


def _questions(turn: TurnToRead, reading: StudentReading, whether: frozenset[str]) -> dict[str, object]:
    """What the turn asks for: by known words, and as the reader has it where a question is in others."""
    choice, unknown = turn.choice, list[str]()
    assert choice is not None
    asks, repeats = _facts_of(whether, turn), False
    other = bool(whether) and not asks
    for part in filter(is_question, lines(turn.text)):
        of_others = _is_of_others(part, choice)
        if part == NEXT_STEP:
            other = True
            continue
        if not of_others and (_asks_whether(part, choice) or _put_forward(part, choice)):
            continue
        if named := [name for name in choice.attributes if _stands(name, part.replace("color", "colour"))]:
            wanted = _facts_on(named, turn, of_others)
            asks, other = asks | wanted, other or not wanted
        elif (
            not of_others
            and (words := content_words(part) - {"one"}) <= content_words(sentences(turn.question)[-1])
            and (words or not reading.generic_request)  # "Where is it?", "What can you tell me?": no word says which
        ):
            repeats = True
        else:
            unknown.append(part)
    if not unknown:
        return {"asks": asks, "other_question": other, "repeats_question": repeats, "generic_request": False}
    read = bool(reading.asks) or reading.generic_request or reading.repeats_question
    return {
        "asks": asks | reading.asks,
        # Whatever a question is about, it is one.
        "other_question": other or reading.other_question or (not read and any(p.endswith("?") for p in unknown)),
        "repeats_question": repeats or reading.repeats_question,
    }


def _told(turn: TurnToRead) -> tuple[frozenset[str], frozenset[str]]:
    """The facts that it states, word for word or by their value, and those that it states with another value."""
    choice = turn.choice
    assert choice is not None
    right, rest = {fact.id for fact in turn.facts if fact.text in turn.text}, turn.text
    for fact in turn.facts:
        rest = rest.replace(fact.text, " ")
    values = {value for part in _spoken(rest, choice) if _states(part, choice) for value in values_in(part, choice)}
    by_value = {fact.id for fact in turn.facts if fact.value in values}
    columns = {choice.attribute(value) for value in values}
    other = {fact.id for fact in turn.facts if fact.value and choice.attribute(fact.value) in columns}
    return frozenset(right | by_value), frozenset(other - right - by_value)


def partner_on_options(turn: TurnToRead, reading: PartnerReading) -> PartnerReading:
    """The same of a partner's turn: what it tells, an option that it puts forward, yes or no to a closed question."""
    if turn.choice is None:
        return reading
    attempt = option_attempt(turn.text, turn.choice)
    told, wrong = _told(turn)
    update: dict[str, object] = {"attempt": attempt, "tells": told, "tells_wrong": wrong}
    if attempt is not None and turn.answer and equal(attempt, turn.answer):
        update["reveals"] = "stated"
    elif reading.reveals == "stated":  # where it stands among others it is not stated as the answer
        update["reveals"] = "no"
    before = turn.before[-1].text if turn.before and turn.before[-1].party == "student" else ""
    if closed_question(before, turn.choice) and option_attempt(before, turn.choice) is None:
        # Said to a question, it is no verdict.
        update |= {"confirms": yes_or_no(turn.text), "feedback": "none"}
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
    return [part for part in lines(text) if not _is_of_others(part, choice)]


def lines(text: str) -> list[str]:
    """The sentences of a text; a line ends one."""
    return [line for block in sentences(text) for line in block.splitlines() if line.strip()]


def is_question(sentence: str) -> bool:
    """Whether it is a question, or a request without its sign."""
    return sentence.endswith("?") or _REQUEST.search(sentence) is not None


def _is_of_others(sentence: str, choice: Choice) -> bool:
    return any(_stands(word, sentence) for word in choice.others)


def _asks_whether(sentence: str, choice: Choice) -> frozenset[str]:
    if not sentence.endswith("?") or _SAYS_NOT.search(sentence) or _OPEN.search(sentence):
        return frozenset()
    names, values = _names(sentence, choice), values_in(sentence, choice)
    if not names and _or_between(values, sentence) and len({choice.attribute(value) for value in values}) > 1:
        return frozenset()  # "Is it medium or hexagonal?": values of one attribute are alternatives, these are not
    return frozenset(names if len(names) > 1 else () if names else values)


def _or_between(values: list[str], sentence: str) -> bool:
    places = [at.start() for value in values for at in _as_words(value).finditer(sentence)]
    return bool(places) and re.search(r"\bor\b", sentence[min(places) : max(places)], re.I) is not None


def _put_forward(sentence: str, choice: Choice) -> str | None:
    if _SAYS_NOT.search(sentence) or _SUPPOSES.search(sentence):
        return None
    if sentence.endswith("?") and _ASKS_OPENLY.match(sentence):
        return None
    names = _names(sentence, choice)
    if not names and (said := _ANSWER.search(sentence)) and not JUDGES.fullmatch(said[1]):
        return _settled(said[1], choice)  # what is no option is an attempt, too, and a wrong one
    return names[0] if len(names) == 1 else None


def _states(sentence: str, choice: Choice) -> bool:
    """Whether it says something of the item, and names no options."""
    says = not _SAYS_NOT.search(sentence) and not _SUPPOSES.search(sentence) and not is_question(sentence)
    return says and not _names(sentence, choice)


def _names(sentence: str, choice: Choice) -> list[str]:
    """The options whose values stand side by side in a sentence; the noun may be "one", or be left out."""
    return [choice.name(option) for option in choice.options if _stands(" ".join(option), sentence)]


def _stands(words: str, text: str) -> bool:
    return _as_words(words).search(text) is not None


@lru_cache(4096)  # re keeps 512 patterns, and a world has more words than that
def _as_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.I)


def _facts_of(words: frozenset[str], turn: TurnToRead) -> frozenset[str]:
    """The facts that a closed question asks to have confirmed: those on the attributes that it has values of."""
    assert turn.choice is not None
    columns = {turn.choice.attribute(word) for word in words} - {None}
    return frozenset(f.id for f in turn.facts if f.value and turn.choice.attribute(f.value) in columns)


def _facts_on(attributes: list[str], turn: TurnToRead, about_others: bool) -> frozenset[str]:
    """The facts on these attributes, by the questions that they know: of the item, or of what is told besides."""
    return frozenset(
        fact.id
        for fact in turn.facts
        if bool(fact.value) != about_others and any(_stands(name, fact.ask) for name in attributes)
    )


def _settled(attempt: str | None, choice: Choice) -> str | None:
    """What a reader took for the answer, by the name of the one option that its words fit."""
    words = values_in(attempt or "", choice)
    fitting = [option for option in choice.options if words and choice.fits(option, words)]
    return choice.name(fitting[0]) if len(fitting) == 1 else attempt


def yes_or_no(text: str) -> YesNo:
    """What a turn begins with."""
    return "yes" if _YES.match(text.strip()) else "no" if _NO.match(text.strip()) else "none"

"""Where a turn commits to an answer, and to which, by rule."""

from __future__ import annotations

import re

from pipeline.reading.lately import lately
from pipeline.reading.numbers.numerals import WORDS, spoken
from pipeline.reading.programs import program
from pipeline.reading.sentences import content_words, sentences

# A sign is one where nothing stands before it: "5-7" has none.
_WHOLE = r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+|\d(?:(?:\{,\}|,)*\d)*"
_NUMBER = rf"(?:(?<![\w)])[-+−])?[$£€]?(?:(?:{_WHOLE})(?:\.\d+)?|\.\d+)(?:/\d+| \d+/\d+)?%?"
_WORD = rf"(?:{'|'.join(sorted(WORDS, key=len, reverse=True))})\b"
_SPOKEN = rf"(?:(?:minus|negative)\s)?(?:\ban?\s)?\b{_WORD}(?:[\s-](?:(?:and|a|an|point)\s){{0,2}}{_WORD})*"
_SCALED = r"(?:\s(?:dozen|hundred|thousand|million|billion)\b)?"
# Atomic: what may not follow "two hundred" or "32.5" may not follow its "two" or "32" either.
_SAID = rf"(?>{_NUMBER}{_SCALED}|{_SPOKEN})"
_NUMBERS = re.compile(_SAID, re.I)
# "The answer is correct." judges one, and is none.
JUDGES = re.compile(r"(?:not |in)?(?:right|correct|wrong)", re.I)
_AND = r"(?:\s+dollars?)?(?:,?\s+and)?\s+"  # between dollars and cents
# As an answer, a number has more forms than in other prose, where "minus 5" takes away.
_ANSWER = (
    r"(?>\\d?frac\{[^{}]*\}\{[^{}]*\}|\d*\s?[¼-¾⅐-⅞]"
    rf"|(?:(?:minus|negative)\s+(?=[\d.]))?{_SAID}(?:{_AND}\d\d?\s+cents?\b)?)"
)
_ATTEMPT = re.compile(
    r"(?:\b(?:(?<!your )(?<!your final )answer(?: (?:is|was|would be|should be|must be)|:)|i get|i guess)|####)"
    rf"[\s:*]*(?:\\?\$|\\\()?({_ANSWER})(?![\d\w]|[,:'’]\d|\s*[-+x×÷^/=]|\s*:\s*\d+\s*(?:[.!]|$)|\s*\*(?!\*)|\s+(?:and\s+)?(?!(?:because|since|as|so)\b)[a-z]+\s*[-+*/=]?\s*\d"
    r"|\s+(?:more|less|fewer|times|and a half|and a quarter)\b"
    r"|\s+[a-z]+(?:,?\s+and|,)\s+\d[\d.]*\s+[a-z]+\s*(?:[.!]|$))"  # "2 hours and 30 minutes" is neither 2 nor 30
    r"|\\boxed\{((?:[^{}]|\{[^{}]*\})+)\}",
    re.I,
)
# "It is 12." commits; "it is 3 times as many" does not.
_ITS = re.compile(rf"\b(?:it is|it['’]s|is it|is the answer)\s+({_SAID})(?:[.!?]|$)", re.I)
# What is supposed, denied, doubted, asked about or put down to somebody else commits to nothing.
_SUPPOSED = re.compile(r"^(?:and |but |so )?(?:if|what if|suppose|imagine|assume|let['’]s say)\b", re.I)
_NOT_MINE = re.compile(
    r"\b(?:not|never|disagree|doubt|unsure|why|how|whether)\b|n't\b"
    r"|\b(?:you|he|she|they|my partner) (?:says?|said|thinks?|thought|claim(?:s|ed)?|believes?)\b|\btold (?:me|us)\b",
    re.I,
)
_UNIT = r"(?:\s+(?!(?:and|or|but|plus|minus|times|more|less|fewer)\b)[a-z]+){0,3}"
# The last line of a worked solution ("... 4 spoons.\n 4"), or a whole turn.
_BARE = re.compile(rf"(?:^|\n|(?<!\d)[.!?]\s)\s*+\**({_SAID})\**[.!]?\**\s*$", re.I)
# The number at the end of a sentence, with its unit: "So she bought a package of 10 spoons."
_CLOSING = re.compile(rf"(?:=|\b(?!(?:by|to|from|for|away|not|x)\b)[a-z]+)\s*({_NUMBER}){_UNIT}[.!]?\s*$", re.I)


@lately  # what a turn asks, tells and judges is each read where it commits to nothing
def attempt(text: str, question: str = "", entry: str = "") -> str | None:
    """The final answer that a turn commits to, or None. "Is it 12?" is one; the last one in the turn counts.

    People seldom say "the answer is". With the `question`, a closing sentence that answers it counts too:
    it ends in a number with its unit, and takes up half of the words that the question asks with. Leave
    the question out wherever a restated fact would read the same ("So Tom has 12 pens."), as in the
    embedded world. Precision, recall and limits of both are in docs/labels.md.

    Where the task asks for the function `entry` the answer is a program, and nothing else is one.
    """
    if entry:
        return program(text, entry)
    by_wording = _by_wording(text)
    return _closing(text, question) if by_wording is None and question else by_wording


@lately  # the same words come on many questions
def _by_wording(text: str) -> str | None:
    """The answer that a text says to be one."""
    bare = _BARE.search(text)
    if bare and _is_number(bare):
        return as_written(bare.group(1))
    answers = [answer for part in sentences(text) for answer in _named(part)]
    if answers:
        return as_written(answers[-1])
    return "impossible" if re.search(r"\bthat is impossible\b(?! to)", text, re.I) else None


def _named(sentence: str) -> list[str]:
    if _SUPPOSED.search(sentence):
        return []
    matches = filter(_is_number, [*_ATTEMPT.finditer(sentence), *_ITS.finditer(sentence)])
    named = sorted(matches, key=lambda match: match.start())
    clauses = [re.split(r"[,;:]|\bbut\b", sentence[: match.start()])[-1] for match in named]
    return [m.group(1) or m.group(2) for m, clause in zip(named, clauses, strict=True) if not _NOT_MINE.search(clause)]


def _is_number(match: re.Match[str]) -> bool:
    """Words have to be one number. "One" is a pronoun unless it follows "answer", and "two of them" counts others."""
    written = match.group(1)
    if written is None or re.search(r"[\d¼-¾⅐-⅞]", written):
        return True
    pronoun = written.casefold() == "one" and "answer" not in match.group().casefold()
    return spoken(written) is not None and not pronoun and not re.match(r"\s+of\b", match.string[match.end() :])


def said_numbers(text: str) -> list[tuple[int, int]]:
    """Where the numbers of a text stand, in digits or words: start and end of each."""
    return [match.span() for match in _NUMBERS.finditer(text)]


def as_written(answer: str) -> str:
    """A number in plain signs: "$1,200." is "1200", "twelve" is "12"."""
    if re.match(r"[a-z]", answer, re.I) and (value := spoken(answer)) is not None:
        return str(value)
    plain = re.sub(r"^(?:minus|negative)\s+", "-", answer.replace("−", "-"), flags=re.I)
    plain = re.sub(rf"(\d){_AND}(\d\d?)\s+cents?\b", lambda match: f"{match[1]}.{match[2]:0>2}", plain, flags=re.I)
    plain = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", plain)
    plain = re.sub(r"(?<=\d)[ \u00a0\u202f](?=\d{3}\b)", "", plain)
    # A comma elsewhere is no thousands' one: "12,5" is not 125.
    plain = re.sub(r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))|(?<=\d),(?=\d\d(?:,\d\d)*,\d{3}(?!\d))", "", plain)
    return re.sub(r"\\?[$£€]", "", plain).strip().rstrip(".,")


def _closing(text: str, question: str) -> str | None:
    last, asking = sentences(text)[-1:], sentences(question)
    goal = ([part for part in asking if "?" in part] or asking)[-1:]
    match = _CLOSING.search(last[0]) if last and not last[0].endswith("?") else None
    if match is None or not goal:
        return None
    # What stands before "how many" is a condition, and its number is no answer ("until he can hold it for 90 seconds").
    wanted = content_words(re.split(r"\b(?:how (?:many|much)|what)\b", goal[0], flags=re.I)[-1])
    answer = as_written(match.group(1))
    if not wanted or answer in re.findall(r"\d+", goal[0]) or len(wanted & content_words(last[0])) < 0.5 * len(wanted):
        return None
    return answer

"""Is one question another one: word for word, somewhere inside it, nearly, or with other numbers?

Texts are compared as words in small letters, with numbers in words written in digits, so that "five pens" is "5 pens".
This is wider than `question_hash`, on which splits rest, and which stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from pipeline.core.schema import ONE_SIGN, SHORT
from pipeline.reading.numbers.numerals import LONGEST, WORDS, spoken
from pipeline.reading.sentences import content_words

Kind = Literal["equal", "near", "renumbered"]  # the closest first
NEAR = 0.8  # of the words of both, or of the shingles of the shorter
LEAST = 12  # words of a question that is looked for inside another
SHINGLE = 4  # words; one changed word changes as many shingles
FEW = 20  # questions that a shingle may stand in and still point at one of them
SIGN = r"(?<=[\d)])\s*([-+*/])\s*(?=[\d(])"


class Read(NamedTuple):
    """A question as it is compared. Shingles have # for every number."""

    words: tuple[str, ...]
    content: frozenset[str]
    numbers: tuple[str, ...]
    shingles: frozenset[tuple[str, ...]]
    signs: tuple[str, ...]  # between numbers, of a short question, which may be a bare sum

    @property
    def passages(self) -> set[tuple[str, ...]]:
        """All runs of LEAST words, with their numbers: who stands inside another shares all of its own."""
        return set(zip(*(self.words[i:] for i in range(LEAST)), strict=False))


class Alike(NamedTuple):
    """Of each of our questions that is one of theirs how it is that, and the key of theirs; and of theirs likewise."""

    ours: dict[str, tuple[Kind, str]]
    theirs: dict[str, tuple[Kind, str]]


def compare(ours: Iterable[tuple[str, str]], theirs: dict[str, str]) -> Alike:
    """Our questions come with their keys, which are hashes. Theirs are held, ours are not."""
    read = {key: read_question(question) for key, question in theirs.items()}
    by_numbers: dict[tuple[str, ...], list[str]] = defaultdict(list)
    by_shingle: dict[tuple[str, ...], list[str]] = defaultdict(list)
    by_passage: dict[tuple[str, ...], list[str]] = defaultdict(list)
    by_rarest: dict[tuple[str, ...], list[str]] = defaultdict(list)

    def rarity(passage: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        return len(by_passage.get(passage, ())), passage

    for key, other in read.items():
        if other.numbers:
            by_numbers[other.numbers].append(key)
        for shingle in other.shingles:
            by_shingle[shingle].append(key)
        for passage in other.passages:
            by_passage[passage].append(key)
    for key, other in read.items():
        if other.passages:
            by_rarest[min(other.passages, key=rarity)].append(key)
    found = Alike({}, {})
    for key, question in ours:
        if key in theirs:
            found.ours[key] = found.theirs[key] = "equal", key
        own = read_question(question)
        likely = [
            *by_numbers.get(own.numbers, ()),
            *(other for passage in own.passages for other in by_rarest.get(passage, ())),  # those inside ours
            *(by_passage.get(min(own.passages, key=rarity), ()) if own.passages else ()),  # those around it
            *_pointed(own.shingles, by_shingle),
        ]
        for other in dict.fromkeys(likely):
            if kind := alike(own, read[other]):
                _better(found.ours, key, kind, other)
                _better(found.theirs, other, kind, key)
    return found


def _pointed(parts: Iterable[tuple[str, ...]], where: dict[tuple[str, ...], list[str]]) -> list[str]:
    """The keys that the rarer parts stand in, those with the most of them first."""
    counts = Counter(key for part in parts if len(where.get(part, ())) <= FEW for key in where.get(part, ()))
    return [key for key, _ in counts.most_common(FEW)]


def _better(matches: dict[str, tuple[Kind, str]], key: str, kind: Kind, other: str) -> None:
    """Keep the first of the closest matches."""
    order = get_args(Kind)
    if key not in matches or order.index(kind) < order.index(matches[key][0]):
        matches[key] = kind, other


def alike(question: Read, other: Read) -> Kind | None:
    """Equal: one stands in the other. Near: the numbers of the one, and four fifths of the words; sums that differ in a
    sign are."""
    short, long = sorted((question, other), key=lambda read: len(read.words))
    if short.words == long.words:
        return "equal" if short.signs == long.signs else "near"
    if len(short.words) >= LEAST and f" {_text(short)} " in f" {_text(long)} ":
        return "equal"
    same = len(question.content & other.content) >= NEAR * len(question.content | other.content)
    if short.numbers and short.numbers == long.numbers and same:
        return "near"
    if len(short.words) < LEAST or len(short.shingles & long.shingles) < NEAR * len(short.shingles):
        return None
    return "near" if short.numbers and not Counter(short.numbers) - Counter(long.numbers) else "renumbered"


def _text(read: Read) -> str:
    return " ".join(read.words)


def read_question(question: str) -> Read:
    words = _in_digits(re.findall(r"[^\W\d_]+|\d+(?:[.,]\d+)*", question.lower()))
    masked = ["#" if word[0].isdigit() else word for word in words]
    return Read(
        tuple(words),
        frozenset(content_words(" ".join(words))),
        tuple(sorted(word for word in words if word[0].isdigit())),
        frozenset(zip(*(masked[i:] for i in range(SHINGLE)), strict=False)),
        tuple(re.findall(SIGN, question.translate(ONE_SIGN))) if len(words) <= SHORT else (),
    )


def _in_digits(words: list[str]) -> list[str]:
    """The longest run of words that is one number is that number: "2 dozen" is "24", and "half" is "1/2"."""
    rewritten, i = [], 0
    while i < len(words):
        end = i + 1
        while end < min(len(words), i + LONGEST) and (words[end] in WORDS or words[end] == "and"):
            end += 1
        ends = range(end, i, -1) if words[i] in WORDS or end > i + 1 else ()
        read = next(((value, j) for j in ends if (value := spoken(" ".join(words[i:j]))) is not None), None)
        rewritten.append(words[i].replace(",", "") if read is None else str(read[0]))
        i = i + 1 if read is None else read[1]
    return rewritten

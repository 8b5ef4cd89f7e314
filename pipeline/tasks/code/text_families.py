"""Families of embedded code tasks about texts and lists."""

from __future__ import annotations

from random import Random
from typing import Any

from pipeline.tasks.code.family import PEOPLE, TIES, WORDS, Convention, Family, Value, empty, some


def _text(rng: Random, k: int) -> tuple[Any, ...]:
    words = rng.choices(rng.sample(WORDS, 4), k=some(rng, 7))
    styles = [str.lower, str.lower, str.title] if rng.random() < 0.5 else [str.lower]
    return (" ".join(rng.choice(styles)(word) for word in words),)


def _title(rng: Random, k: int) -> tuple[Any, ...]:
    words = rng.sample(WORDS, some(rng, 4))
    if rng.random() < 0.4:
        words.insert(rng.randint(0, len(words)), "-".join(rng.sample(WORDS, 2)))
    if rng.random() < 0.4:
        words.insert(rng.randint(0, len(words)), f"{rng.randint(2, 9)}{rng.choice(WORDS)}")
    return (" ".join(words),)


def _scores(rng: Random, k: int) -> tuple[Any, ...]:
    names = rng.choices(PEOPLE, k=some(rng, 5)) if rng.random() < 0.5 else rng.sample(PEOPLE, some(rng, 5))
    return ([(name, k + rng.choice([-3, -1, 0, 0, 1, 2, 3, 5, 8])) for name in names],)


def _between(rng: Random, k: int) -> tuple[Any, ...]:
    low, high = rng.randint(0, 6), rng.randint(4, 12)
    return ([rng.randint(0, 12) for _ in range(rng.randint(2, 8))], low, high)


TEXTS_AND_LISTS = (
    Family(
        kind="string_words",
        wants=(
            "`F(text)` gives a list of the distinct words of a text that have at least K letters, "
            "the most frequent ones first. Words are separated by spaces.",
            "From a text, whose words are separated by spaces, `F(text)` makes a list of all distinct words with K "
            "letters or more. Those that come most often stand first.",
        ),
        program="""
def F(text):
    words = [word for word in text.split() if len(word) >= K]
    {case}
    if not words:
        return {empty}
    return sorted({ties}, key=lambda word: -words.count(word))
""",
        numbers=(4, 5),  # all words have three letters or more
        conventions=(
            Convention(
                "ties",
                TIES,
                "In which order does `F` put words that come equally often?",
                (
                    Value(
                        "`F` puts words that come equally often in the order of the alphabet, whatever their capitals; "
                        "of two that differ in these alone the one with a capital stands first.",
                        "sorted(set(words), key=lambda word: (word.lower(), word))",
                    ),
                    Value(
                        "`F` puts words that come equally often in the reverse order of the alphabet, whatever their "
                        "capitals; of two that differ in these alone the one in small letters stands first.",
                        "sorted(set(words), key=lambda word: (word.lower(), word), reverse=True)",
                    ),
                    Value(
                        "`F` puts words that come equally often as they first appear in the text.",
                        "dict.fromkeys(words)",
                    ),
                    Value(
                        "`F` puts words that come equally often as they last appear in the text, the latest one first.",
                        "dict.fromkeys(reversed(words))",
                    ),
                ),
            ),
            Convention(
                "case",
                ("case", "capital", "lower", "upper"),
                "What does `F` do with words that differ in their capital letters alone?",
                (
                    Value(
                        "`F` counts words that differ in their capital letters alone as different words.",
                        "words = list(words)",
                    ),
                    Value(
                        "`F` counts words that differ in their capital letters alone as one word in small letters.",
                        "words = [word.lower() for word in words]",
                    ),
                    Value(
                        "`F` counts words that differ in their capital letters alone as one word, written as at first.",
                        "first = {word.lower(): word for word in reversed(words)}\n"
                        "    words = [first[word.lower()] for word in words]",
                    ),
                ),
            ),
            empty(
                "there is no such word",
                ("an empty list", "[]"),
                ("None", "None"),
                ("a list with one empty text", '[""]'),
            ),
        ),
        draw=_text,
    ),
    Family(
        kind="string_initials",
        wants=(
            "`F(text)` joins the first letters of the words of a text in capitals. Words of fewer than K characters "
            "are left out.",
            "Of each word of a text that has K characters or more, `F(text)` takes the first letter as a capital, and "
            "joins them.",
        ),
        program="""
def F(text):
    {hyphens}
    words = [word for word in words if len(word) >= K]
    {digits}
    if not words:
        return {empty}
    return "".join(word[0].upper() for word in words)
""",
        numbers=(4, 5),
        conventions=(
            Convention(
                "hyphens",
                ("hyphen", "dash", "compound", "separat", "split"),
                "What does `F` do with words that are joined by a hyphen?",
                (
                    Value("`F` reads words that are joined by a hyphen as one word.", "words = text.split()"),
                    Value(
                        "`F` reads words that are joined by a hyphen as separate words.",
                        'words = text.replace("-", " ").split()',
                    ),
                    Value(
                        "`F` leaves out words that are joined by a hyphen.",
                        'words = [word for word in text.split() if "-" not in word]',
                    ),
                ),
            ),
            Convention(
                "digits",
                ("digit", "number", "numeral"),
                "What does `F` do with words that begin with a digit?",
                (
                    Value("`F` takes the digit of words that begin with a digit.", "words = list(words)"),
                    Value(
                        "`F` leaves out words that begin with a digit.",
                        "words = [word for word in words if not word[0].isdigit()]",
                    ),
                    Value(
                        "`F` takes the first letter after the digit of words that begin with a digit.",
                        'words = [word.lstrip("0123456789") or word for word in words]',
                    ),
                ),
            ),
            empty("no word is left", ("an empty text", '""'), ("None", "None"), ("a question mark", '"?"')),
        ),
        draw=_title,
    ),
    Family(
        kind="list_ranking",
        wants=(
            "`F(pairs)` gets a list of pairs of a name and a score, and gives the names whose score is high enough, "
            "for which K is the mark, the highest score first.",
            "Of a list of pairs, each a name and its score, `F(pairs)` lists the names with a score that is high "
            "enough, of which K is the bound. Higher scores stand before lower ones.",
        ),
        program="""
def F(pairs):
    {repeats}
    pairs = [pair for pair in pairs if pair[1] {bound} K]
    {ties}
    return [name for name, score in sorted(pairs, key=lambda pair: -pair[1])]
""",
        numbers=(10, 20, 30, 40, 50, 60),
        conventions=(
            Convention(
                "ties",
                TIES,
                "In which order does `F` put names with the same score?",
                (
                    Value("`F` puts names with the same score in the order of the alphabet.", "pairs = sorted(pairs)"),
                    Value(
                        "`F` puts names with the same score in the reverse order of the alphabet.",
                        "pairs = sorted(pairs, reverse=True)",
                    ),
                    Value("`F` puts names with the same score as they stand in the list.", "pairs = list(pairs)"),
                    Value(
                        "`F` puts names with the same score as they stand in the list, but backwards.",
                        "pairs = list(reversed(pairs))",
                    ),
                ),
            ),
            Convention(
                "bound",
                ("exactly", "inclusive", "exclusive", "includ", "at least", "more than", "reach", "threshold"),
                "Does `F` keep a score of exactly K?",
                (
                    Value("`F` keeps a score of exactly K.", ">="),
                    Value("`F` drops a score of exactly K.", ">"),
                ),
            ),
            Convention(
                "repeats",
                ("twice", "duplicate", "repeat", "several", "more than once", "again"),
                "What does `F` do with a name that comes twice?",
                (
                    Value("`F` lists a name that comes twice with each of its scores.", "pairs = list(pairs)"),
                    Value(
                        "`F` lists a name that comes twice only once, with its first score, be that enough or not.",
                        "pairs = list({name: (name, score) for name, score in [*pairs, *reversed(pairs)]}.values())",
                    ),
                    Value(
                        "`F` leaves out a name that comes twice, whatever its scores.",
                        "names = [name for name, score in pairs]\n"
                        "    pairs = [pair for pair in pairs if names.count(pair[0]) == 1]",
                    ),
                ),
            ),
        ),
        draw=_scores,
    ),
    Family(
        kind="list_between",
        wants=(
            "`F(numbers, low, high)` gives those of a list of numbers that lie between low and high, in their order, "
            "and at most the first K of them.",
            "`F(numbers, low, high)` picks the numbers between low and high out of a list, without changing their "
            "order, and stops after K.",
        ),
        program="""
def F(numbers, low, high):
    if low > high:
        {swapped}
    found = [number for number in numbers if {bounds}]
    {repeats}
    return found[:K]
""",
        numbers=(4, 5, 6, 7, 8),
        conventions=(
            Convention(
                "bounds",
                ("inclusive", "exclusive", "includ", "bound", "endpoint", "equal to", "themselves", "limits"),
                "Does `F` take low and high themselves?",
                (
                    Value("`F` takes low itself and high itself.", "low <= number <= high"),
                    Value("`F` takes neither low itself nor high itself.", "low < number < high"),
                    Value("`F` takes low itself, and high itself it leaves out.", "low <= number < high"),
                    Value("`F` leaves out low itself, and high itself it takes.", "low < number <= high"),
                ),
            ),
            Convention(
                "repeats",
                ("twice", "duplicate", "repeat", "several", "more than once", "again", "distinct"),
                "What does `F` do with a number that comes twice?",
                (
                    Value("`F` gives a number that comes twice as often as it comes.", "found = list(found)"),
                    Value(
                        "`F` gives a number that comes twice once, where it first stands, and counts it once.",
                        "found = list(dict.fromkeys(found))",
                    ),
                    Value(
                        "`F` gives a number that comes twice once, where it last stands in the whole list.",
                        "found = list(dict.fromkeys(reversed(found)))[::-1]",
                    ),
                ),
            ),
            Convention(
                "swapped",
                ("swap", "above high", "greater than high", "larger than high", "low >", "exceed", "wrong way"),
                "What does `F` do where low is above high?",
                (
                    Value("`F` gives an empty list where low is above high.", "return []"),
                    Value("`F` changes their places where low is above high.", "low, high = high, low"),
                    Value("`F` gives None where low is above high.", "return None"),
                ),
            ),
        ),
        draw=_between,
    ),
)

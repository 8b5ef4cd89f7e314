"""Underspecified GSM8K: a problem told in shards, of which the student reads only the first.

The file is that of Lost in Conversation (Laban et al., arXiv 2505.06120): a JSON list of question,
answer and shards. The first shard asks, and is the public question of the `sharded` task; the others
are its withheld facts. The `full` twin has the whole question public. Shards were cut by a machine:
an item whose shards lost a number of the question, or whose first shard already tells all the others,
is a BadRow. A shard that another one states as well is kept, but not needed.

    maieutic build configs/sharded.yaml
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipeline.acts import given
from pipeline.config import ConfigError, Tasks
from pipeline.schema import Fact, Task, question_hash
from pipeline.tasks.rows import (
    BadRow,
    RowError,
    gold_and_solution,
    local_file,
    parse,
    read_text,
    split_of,
    text_of,
    wrong_answer,
)

WHAT = "the JSON list of sharded problems (question, answer, shards)"

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_COUNTS = (
    {word: Fraction(i) for i, word in enumerate(_ONES)}
    | {word: Fraction(10 * i) for i, word in enumerate(_TENS, start=2)}
    | {
        "twice": Fraction(2),
        "double": Fraction(2),
        "doubled": Fraction(2),
        "doubles": Fraction(2),
        "couple": Fraction(2),
        "pair": Fraction(2),
        "thrice": Fraction(3),
        "triple": Fraction(3),
        "tripled": Fraction(3),
        "triples": Fraction(3),
    }
)
_TIMES = {  # multiply a number just before them, or stand alone
    "dozen": Fraction(12),
    "dozens": Fraction(12),
    "hundred": Fraction(100),
    "thousand": Fraction(1000),
    "million": Fraction(10**6),
    "percent": Fraction(1, 100),
    "half": Fraction(1, 2),
    "halves": Fraction(1, 2),
    "quarter": Fraction(1, 4),
    "quarters": Fraction(1, 4),
    "third": Fraction(1, 3),
    "thirds": Fraction(1, 3),
    "fourth": Fraction(1, 4),
    "fourths": Fraction(1, 4),
    "fifth": Fraction(1, 5),
    "fifths": Fraction(1, 5),
    "sixth": Fraction(1, 6),
    "tenth": Fraction(1, 10),
    "tenths": Fraction(1, 10),
}
_GRADES = ("grade", "grader", "graders")
_ORDINALS = ("third", "fourth", "fifth", "sixth", "tenth")


def numbers(text: str) -> set[Fraction]:
    """The numbers that a text states, in digits or words: "2 dozen" is 24, "50%" and "half" are 1/2, "twice" is 2.

    A bare "one" (mostly a pronoun) and ordinals ("the third dart", "fifth grade") are none.
    """
    found: set[Fraction] = set()
    current: Fraction | None = None
    pieces = re.findall(r"\d[\d,]*(?:\.\d+)?|[a-z]+|[%/]", text.lower().replace("-", " "))
    for i, piece in enumerate(pieces):
        before, after = pieces[i - 1] if i else "", pieces[i + 1] if i + 1 < len(pieces) else ""
        if piece in _TIMES or piece == "%":
            factor = _TIMES.get(piece, Fraction(1, 100))
            if current is not None:
                current *= factor
            elif piece not in _ORDINALS or (before in ("a", "and") and after not in _GRADES):
                current = factor
            continue
        value = _COUNTS.get(piece, Fraction(piece.replace(",", "")) if piece[0].isdigit() else None)
        if piece == "/" and current is not None:
            continue
        if value is not None and before == "/" and current is not None and value:
            current /= value
        elif value is not None and before in _TENS and current is not None and piece in _ONES[1:10]:
            current += value
        else:
            _keep(current, pieces, i, found)
            current = value
    _keep(current, pieces, len(pieces), found)
    return found


def _keep(value: Fraction | None, pieces: list[str], end: int, found: set[Fraction]) -> None:
    if value is not None and not (value == 1 and pieces[end - 1] == "one"):
        found.add(value)


def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
    """Both twins of every item, `sharded` then `full`. Raises ConfigError for a file that is no JSON list."""
    seen: set[str] = set()

    def make(row: dict[str, Any]) -> tuple[Task, Task]:
        pair = twins(row)
        if pair[0].id in seen:
            raise RowError("the same shards stand in an earlier item")
        seen.add(pair[0].id)
        return pair

    pairs, bad = parse(_items(local_file(settings, WHAT)), make)
    return [task for pair in pairs for task in pair], bad


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        items = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"tasks.path: {str(path)!r} is not JSON: {error}. Source 'sharded' reads {WHAT}.") from error
    if not isinstance(items, list):
        raise ConfigError(f"tasks.path: {str(path)!r} holds {type(items).__name__}, expected {WHAT}.")
    return ((f"{path}, item {i}", item) for i, item in enumerate(items))


def twins(row: dict[str, Any]) -> tuple[Task, Task]:
    """The sharded task and its full twin. Raises RowError for an item that cannot be told in shards."""
    whole, shards = text_of(row, "question"), _shards(row)
    gold, solution = gold_and_solution(text_of(row, "answer"))
    lost = numbers(whole) - set().union(*map(numbers, shards))
    if lost:
        listed = ", ".join(str(number) for number in sorted(lost))
        raise RowError(f"lost a number: {listed} of the question stands in no shard")
    if not any(map(_asks, shards)):
        raise RowError("no shard asks for anything")
    opening, facts = _opening(shards), _facts(shards)
    # Relations without a number ("she saves the rest") stay hidden, but alone they are no missing fact.
    if not any(fact.needed and not fact.public for fact in facts) or numbers(whole) <= numbers(opening):
        raise RowError("the first shard already tells all that the others do, so nothing is withheld")
    name = f"{question_hash(whole)}-{question_hash(' '.join(shards))[:6]}"
    shared: dict[str, Any] = {
        "source": "sharded",
        "full_question": whole,
        "answer": gold,
        "solution": solution,
        "wrong_answer": wrong_answer(gold, whole),
        "split": split_of(whole),
    }
    return (
        Task(id=f"sharded-{name}-sharded", specification="sharded", question=opening, facts=facts, **shared),
        Task(
            id=f"sharded-{name}-full",
            specification="full",
            question=whole,
            facts=tuple(fact.model_copy(update={"public": True}) for fact in facts),
            **shared,
        ),
    )


def _shards(row: dict[str, Any]) -> list[str]:
    shards = row.get("shards")
    if not isinstance(shards, list) or len(shards) < 2:
        raise RowError("'shards' must be a list of at least two, the first of which asks")
    texts = [shard.get("shard") if isinstance(shard, dict) else shard for shard in shards]
    told = []
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise RowError(f"shards[{i}] is {text!r}, expected text: part of the problem is lost")
        if text.strip():  # what an empty one may have lost, `twins` looks for
            told.append(text.strip())
    if len(told) < 2:
        raise RowError(f"{len(told)} of {len(texts)} shards holds text, expected at least two")
    return told


def _asks(shard: str) -> bool:
    return bool(
        re.search(
            r"\?|^(?:how|what|which|when|where|who|at what|in how)\b|"
            r"\b(?:calculate|find|determine|compute|wants? to know|need to know)\b",
            shard,
            re.I,
        )
    )


def _opening(shards: list[str]) -> str:
    """The first shard as a question on its own, with the shard that asks where the first does not."""
    parts = shards[:1] if _asks(shards[0]) else [shards[0], next(shard for shard in shards if _asks(shard))]
    return " ".join(
        part[0].upper() + part[1:] + ("" if part[-1] in ".?!" else "?" if _asks(part) else ".") for part in parts
    )


def _facts(shards: list[str]) -> tuple[Fact, ...]:
    """The shards after the first that tell something: what the opening states as well is public."""
    bare = [Fact(id=f"s{i}", text=shard) for i, shard in enumerate(shards)]

    def tells(other: int, i: int) -> bool:
        return bool(numbers(shards[i])) and bool(given(shards[other].rstrip("?.") + ".", [bare[i]]))

    def repeated(i: int) -> bool:
        others = [j for j in range(1, len(shards)) if j != i and tells(j, i)]
        return any(j < i or not tells(i, j) for j in others)

    return tuple(
        fact.model_copy(update={"public": tells(0, i), "needed": not repeated(i)})
        for i, fact in enumerate(bare)
        if i and not (_asks(fact.text) and not numbers(fact.text))
    )

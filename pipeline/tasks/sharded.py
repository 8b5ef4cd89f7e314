"""Underspecified GSM8K: a problem told in shards, of which the student reads only the first.

The file has the form of Lost in Conversation's (Laban et al., arXiv 2505.06120): a JSON list of question,
answer and shards. The first shard asks, and is the public question of the `sharded` task; the others
are its withheld facts. The `full` twin has the whole question public. Shards were cut by a machine:
an item whose shards lost a number of the question, or whose first shard already tells all the others,
is a BadRow. A shard that another one states as well is kept, but not needed.

    maieutic build configs/sharded.yaml
"""

from __future__ import annotations

import re
from typing import Any

from pipeline.core.schema import Fact, Task, question_hash
from pipeline.reading.acts import given
from pipeline.reading.numbers.numerals import numbers
from pipeline.tasks.parsing import (
    BadRow,
    RowError,
    gold_and_solution,
    json_list,
    local_file,
    parse,
    text_of,
    wrong_answer,
)
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source
from pipeline.tasks.split import split_of

# By which a shard asks, wherever it stands; "which they share equally" tells.
ASKS = re.compile(
    r"\?|^(?:how|what|at what|in how)\b|\b(?:calculate|find|determine|compute|wants? to know|need to know)\b", re.I
)
WHAT = "the JSON list of sharded problems (question, answer, shards)"


def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
    """Both twins of every item, `sharded` then `full`. Raises ConfigError for a file that is no JSON list."""
    seen: set[str] = set()

    def make(row: dict[str, Any]) -> tuple[Task, Task]:
        pair = twins(row)
        if pair[0].id in seen:
            raise RowError("the same shards stand in an earlier item")
        seen.add(pair[0].id)
        return pair

    pairs, bad = parse(json_list(local_file(settings, WHAT), "sharded", WHAT), make)
    return [task for pair in pairs for task in pair], bad


def twins(row: dict[str, Any]) -> tuple[Task, Task]:
    """The sharded task and its full twin. Raises RowError for an item that cannot be told in shards."""
    whole, shards = text_of(row, "question"), _shards(row)
    gold, solution = gold_and_solution(text_of(row, "answer"))
    lost = numbers(whole) - set().union(*map(numbers, shards))
    if lost:
        listed = ", ".join(str(number) for number in sorted(lost))
        raise RowError(f"lost a number: {listed} of the question stands in no shard")
    asks = [i for i, shard in enumerate(shards) if (ASKS.search if i else _asks)(shard)]
    if not asks:
        raise RowError("no shard asks for anything")
    opening, facts = _opening(shards, asks[0]), _facts(shards, asks[0])
    # Relations without a number ("she saves the rest") stay hidden, but alone they are no missing fact.
    if not any(fact.needed and not fact.public for fact in facts) or numbers(whole) <= numbers(opening):
        raise RowError("the first shard already tells all that the others do, so nothing is withheld")
    name = f"{question_hash(whole)}-{question_hash(' '.join(shards))[:6]}"
    sharded = Task(
        id=f"sharded-{name}-sharded",
        source="sharded",
        specification="sharded",
        question=opening,
        full_question=whole,
        answer=gold,
        solution=solution,
        wrong_answer=wrong_answer(gold, whole),
        split=split_of(whole),
        facts=facts,
    )
    return sharded, sharded.told_at_once(f"sharded-{name}-full")


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
    return bool(ASKS.search(shard) or re.match(r"(?:which|when|where|who)\b", shard, re.I))


def _opening(shards: list[str], asking: int) -> str:
    """The first shard as a question on its own, with the shard that asks where the first does not."""
    parts = [shards[i] for i in dict.fromkeys((0, asking))]
    return " ".join(
        part[0].upper() + part[1:] + ("" if part[-1] in ".?!" else "?" if _asks(part) else ".") for part in parts
    )


def _facts(shards: list[str], asking: int) -> tuple[Fact, ...]:
    """The shards outside the opening that tell something: what the first states as well is public."""
    bare = [Fact(id=f"s{i}", text=shard) for i, shard in enumerate(shards)]

    def tells(other: int, i: int) -> bool:
        return bool(numbers(shards[i])) and bool(given(shards[other].rstrip("?.") + ".", [bare[i]]))

    def repeated(i: int) -> bool:
        others = [j for j in range(1, len(shards)) if j != i and tells(j, i)]
        return any(j < i or not tells(i, j) for j in others)

    return tuple(
        fact.model_copy(update={"public": tells(0, i), "needed": not repeated(i)})
        for i, fact in enumerate(bare)
        if i not in (0, asking) and not (ASKS.search(fact.text) and not numbers(fact.text))
    )


SOURCE = Source(
    "sharded",
    ("full", "sharded"),
    read=read,
    licence=Licence(
        "mit",
        "Problems are sharded GSM8K items of Lost in Conversation (Laban et al., 2025; MIT), "
        "after GSM8K (Cobbe et al., 2021; MIT): name both.",
    ),
    has_facts=True,
)

"""The problems that known students are asked: hand-written ones (problems.yaml), or those of the embedded world.

Hand-written problems are read as anybody's own are: a file of records, by `tasks.source: posed`.
"""

from __future__ import annotations

import ast
import itertools
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pipeline.core.schema import Fact, Specification, Task, question_hash
from pipeline.tasks import posed
from pipeline.tasks.settings import Tasks
from pipeline.tasks.word_problems import embedded_tasks

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Problem:
    """A task, and what a student needs to talk about it naturally."""

    task: Task
    name: str = ""  # one for the short and the whole version, whose answers the same student knows, or does not
    asks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # questions, by the fact that they ask for
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what is to be known, as a clause
    unit: str = "things"
    work: str = "it comes to {n}"

    @property
    def impossible(self) -> bool:
        return self.task.specification == "false_premise"

    def number(self, value: str, salt: str) -> str:
        """The number behind an act's value: no two have the same. `salt` tells students apart."""
        if value == "right":
            return self.task.answer
        gold = 40 if self.impossible else int(self.task.answer)
        taken = {gold, *map(int, re.findall(r"\d+", self.task.full_question)), int(self.task.wrong_answer or -1)}
        rng = random.Random(f"{self.name} {salt}")
        values: dict[str, int] = {}
        for name in ("wrong", "guess", "another"):
            values[name] = next(n for n in iter(lambda: rng.randint(2, 2 * gold + 40), None) if n not in taken)
            taken.add(values[name])
        return str(values[value])


def natural(rng: random.Random, folder: Path, count: int = 41) -> list[Problem]:
    """`count` hand-written problems with new numbers, each as its short version and as the whole one."""
    drawn = [_drawn(row, rng) for row in rng.sample(_rows("problems.yaml"), count)]
    path = folder / "problems.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record, _ in drawn), encoding="utf-8")
    tasks, bad = posed.read(Tasks(source="posed", path=str(path)))
    assert not bad, bad
    talk = {question_hash(record["full_question"]): said for record, said in drawn}
    names = [question_hash(task.full_question) for task in tasks]
    return [replace(talk[name], task=task, name=name) for task, name in zip(tasks, names, strict=True)]


def false_premises(rng: random.Random) -> list[Problem]:
    """Hand-written problems that take more away than there is."""
    problems = []
    for row in _rows("false_premises.yaml"):
        a = rng.randint(11, 30)
        numbers = {"a": a, "b": a + rng.randint(2, 15)}
        facts = tuple(Fact(**{**fact, "text": fact["text"].format(**numbers)}) for fact in row["facts"])
        question = " ".join([*(fact.text for fact in facts), row["question"]])
        task = Task(
            id=f"natural-{question_hash(question)}",
            source="mine",
            specification="false_premise",
            question=question,
            full_question=question,
            facts=facts,
            answer="impossible",
            split="exam",
        )
        asks = {fact.id: (fact.ask,) for fact in facts}
        problems.append(Problem(task=task, name=task.id, asks=asks, unit=row["unit"]))
    return problems


def embedded(rng: random.Random, specifications: Sequence[Specification], count: int) -> list[Problem]:
    """Problems of the embedded world; twins share a name."""
    problems, seed = [], rng.randrange(10**6)
    for specification in specifications:
        for task in itertools.islice(embedded_tasks("exam", specification, seed=seed), count):
            asks = {fact.id: (fact.ask,) for fact in task.facts}
            problems.append(Problem(task=task, name=task.id.rpartition("-")[0], asks=asks))
    return problems


@cache
def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    return rows


def _drawn(row: dict[str, Any], rng: random.Random) -> tuple[dict[str, Any], Problem]:
    """A record for the file, and what is said about it. The answer is none of the numbers."""
    while True:
        numbers = {letter: rng.randint(*ends) for letter, ends in row["numbers"].items()}
        answer = _value(ast.parse(row["answer"], mode="eval").body, numbers)
        if answer > 1 and answer not in numbers.values() and len(set(numbers.values())) == len(numbers):
            break
    texts = [fact["text"].format(**numbers) for fact in row["facts"]]
    facts = [
        {
            "id": fact["id"],
            "text": text,
            "ask": fact["asks"][0],
            "public": not fact.get("missing", False),
            "needed": fact.get("needed", True),
        }
        for fact, text in zip(row["facts"], texts, strict=True)
    ]
    public = [fact["text"] for fact in facts if fact["public"]]
    record = {
        "id": f"natural-{row['id']}",
        "source": "mine",
        "specification": "underspecified",
        "question": " ".join([*public, row["question"]]),
        "full_question": " ".join([*texts, row["question"]]),
        "facts": facts,
        "answer": str(answer),
        "wrong_answer": str(
            next(n for n in iter(lambda: answer + rng.randint(-9, 9), None) if _new(n, answer, numbers))
        ),
    }
    asks = {fact["id"]: tuple(fact["asks"]) for fact in row["facts"]}
    needs = {fact["id"]: tuple(fact.get("needs", ())) for fact in row["facts"]}
    work = row["work"].format(**numbers, n="{n}")
    return record, Problem(task=Task.model_validate(record), asks=asks, needs=needs, unit=row["unit"], work=work)


def _new(number: int, answer: int, numbers: dict[str, int]) -> bool:
    return number > 1 and number != answer and number not in numbers.values()


def _value(node: ast.expr, numbers: dict[str, int]) -> int:
    if isinstance(node, ast.Name):
        return numbers[node.id]
    if isinstance(node, ast.Constant):
        return int(node.value)  # type: ignore[arg-type]
    assert isinstance(node, ast.BinOp)
    left, right = _value(node.left, numbers), _value(node.right, numbers)
    return (
        left + right if isinstance(node.op, ast.Add) else left - right if isinstance(node.op, ast.Sub) else left * right
    )

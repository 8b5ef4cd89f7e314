"""Does a rule partner understand a specific question, and does it tell anything else than what was asked?

    python -m evals.readers.turns.understood data/reading/sharded_questions.jsonl sharded.json --reader cross_encoder

Each line of the questions names a sharded task, the fact that its question asks for, and the part of the problems that
it belongs to: `dev` was looked at while readers were tuned, `test` was not. The tasks themselves are a file of
Laban et al. 2025 (arXiv 2505.06120), which is not in this repository.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from pydantic import BaseModel, ConfigDict

from evals.stats.bootstrap import cluster_bootstrap, percentiles
from evals.stats.intervals import at_an_end
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import hearing, known
from pipeline.reading.open_reader import open_reader
from pipeline.reading.protocol import Reader
from pipeline.tasks.settings import Tasks
from pipeline.tasks.sharded import read

FACTS = Condition.model_validate({"partition": "facts"})


class Question(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    fact: str
    part: str
    text: str


class Share(NamedTuple):
    """With a 95% interval over problems."""

    value: float
    low: float
    high: float
    n: int


def shares(questions: Sequence[Question], tasks: dict[str, Task], reader: Reader) -> dict[str, Share]:
    """Of the questions: those whose fact the partner tells, and those after which it tells no other fact."""
    told = asyncio.run(_told(questions, tasks, reader))
    problems = [question.task for question in questions]
    return {
        "understood": _share([question.fact in ids for question, ids in zip(questions, told, strict=True)], problems),
        "no_wrong_fact": _share(
            [ids <= {question.fact} for question, ids in zip(questions, told, strict=True)], problems
        ),
    }


async def _told(questions: Sequence[Question], tasks: dict[str, Task], reader: Reader) -> list[set[str]]:
    """The facts that the partner tells after each question, which opens the dialogue."""
    turns = [[Turn(party="student", text=question.text)] for question in questions]
    asked = [tasks[question.task] for question in questions]
    read_turns = await reader.student([hearing(task, FACTS, one, 0) for task, one in zip(asked, turns, strict=True)])
    told = []
    for task, (turn,), heard in zip(asked, turns, read_turns, strict=True):
        assert isinstance(heard, StudentReading)
        knows = known(task, FACTS, "partner")
        reply = rule_reply(knows, FACTS, [turn.model_copy(update={"heard": heard})], None, random.Random(0))
        told.append({fact.id for fact in knows.facts if fact.text in reply.text})
    return told


def _share(hits: Sequence[bool], problems: Sequence[str]) -> Share:
    names = list(dict.fromkeys(problems))
    counts = np.array([[sum(h for h, p in zip(hits, problems, strict=True) if p == name), problems.count(name)]
                       for name in names])  # fmt: skip
    drawn = cluster_bootstrap(len(names)) @ counts
    low, high = at_an_end(*percentiles(drawn[:, 0] / drawn[:, 1]), len(names))
    return Share(float(np.mean(hits)), low, high, len(hits))


def read_questions(path: Path) -> list[Question]:
    return [Question.model_validate_json(line) for line in path.read_bytes().splitlines()]


def sharded_tasks(path: Path) -> dict[str, Task]:
    """By their ids. Raises ConfigError for a file that is no list of sharded problems."""
    tasks, _ = read(Tasks(source="sharded", path=str(path)))
    return {task.id: task for task in tasks}


def main(
    questions: Path,
    problems: Path,
    reader: Annotated[str, typer.Option(help="the reader by which the partner understands")] = "cross_encoder",
) -> None:
    asked, tasks, reads = read_questions(questions), sharded_tasks(problems), open_reader(reader)
    for part in sorted({question.part for question in asked}):
        for name, share in shares([each for each in asked if each.part == part], tasks, reads).items():
            print(f"{part} {name} {share.value:.3f} ({share.low:.3f} to {share.high:.3f}, n {share.n})")


if __name__ == "__main__":
    typer.run(main)

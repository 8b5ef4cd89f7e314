"""What a rule partner makes of specific questions."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from evals.readers.turns.understood import Question, read_questions, sharded_tasks, shares
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.resources import shipped
from pipeline.reading.protocol import TurnToRead
from pipeline.tasks.sharded import twins

QUESTIONS = shipped("data", "reading", "sharded_questions.jsonl")
ROW = {
    "task_id": "sharded-1",
    "question": "Tom has 12 cakes. Ana has two times as many as Tom. How many cakes do they have in total?",
    "answer": "Ana has 24. In total 36.\n#### 36",
    "shards": [
        {"shard_id": 1, "shard": "How many cakes do Tom and Ana have in total?"},
        {"shard_id": 2, "shard": "Tom has 12 cakes."},
        {"shard_id": 3, "shard": "Ana has two times as many as Tom."},
    ],
}


@dataclass
class Hears:
    """A reader that hears the same facts asked for in every turn."""

    facts: frozenset[str]

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading]:
        return [StudentReading(asks=self.facts) for _ in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading]:
        return [PartnerReading() for _ in turns]


@pytest.mark.parametrize(
    ("hears", "understood", "no_wrong_fact"),
    [((0,), 1.0, 1.0), ((1,), 0.0, 0.0), ((0, 1), 1.0, 0.0), ((), 0.0, 1.0)],
    ids=["the fact", "another", "both", "none"],
)
def test_a_question_is_understood_where_its_fact_is_told(hears, understood, no_wrong_fact):
    task, _ = twins(ROW)
    ids = [fact.id for fact in task.missing]
    asked = [Question(task=task.id, fact=ids[0], part="dev", text="How many does Tom have?")]
    found = shares(asked, {task.id: task}, Hears(frozenset(ids[i] for i in hears)))
    assert {name: share.value for name, share in found.items()} == {
        "understood": understood,
        "no_wrong_fact": no_wrong_fact,
    }


def test_every_question_asks_for_a_withheld_fact_and_no_problem_is_in_both_parts():
    if not os.environ.get("MAIEUTIC_DATA"):
        pytest.skip("MAIEUTIC_DATA is not set: the questions are not held against their sharded problems")
    tasks = sharded_tasks(Path(os.environ["MAIEUTIC_DATA"]) / "sharded_gsm8k" / "sharded_gsm8k.json")
    questions = read_questions(QUESTIONS)
    assert all(question.fact in {fact.id for fact in tasks[question.task].missing} for question in questions)
    dev, test = ({question.task for question in questions if question.part == part} for part in ("dev", "test"))
    assert dev and test and not dev & test

"""Views in the closed prompts, as hashes: closed_views.json has those of the code before prompts were templates.

Such views are what the embedded base was made with, so they stay what they are, byte for byte.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator

from pydantic import ValidationError

from pipeline.core.schema import Draft, ExampleCall, ProgramCheck, Task, Tests, Turn
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import script_view, view
from pipeline.tasks.word_problems import make_task

LINES = ["How many pens does Tom have?", "I guess the answer is 3.", "The answer is {}.", "No.", "Okay."]
CODE = "def f(x):\n    return x\n"


def hashes(partition: str) -> str:
    """Of every view of the partition, on a few tasks, after none to five turns."""
    found = hashlib.sha256()
    for condition in _conditions(partition):
        for task in _tasks():
            turns = _turns(task)
            for count, party in itertools.product((0, 1, 2, 5), ("student", "partner")):
                found.update(json.dumps(view(task, condition, turns[:count], party)).encode())
            found.update(json.dumps(script_view(task, condition)).encode())
    return found.hexdigest()


def _conditions(partition: str) -> Iterator[Condition]:
    axes = itertools.product(
        ("on_request", "volunteer", "chatter"), ("partner", "teacher"), ("rule", "model"), (False, True)
    )
    for disclosure, label, voice, reveal in axes:
        try:
            yield Condition(partition=partition, disclosure=disclosure, label=label, voice=voice, reveal=reveal)
        except ValidationError:
            continue


def _tasks() -> Iterator[Task]:
    for seed, specification in itertools.product((1, 2, 3), ("full", "underspecified", "false_premise")):
        task = make_task(seed, specification)
        yield task
        yield task.model_copy(update={"memories": ("You remember: x.\ny", "Second <b>memory & {{ z }}.")})
        draft = Draft(steps=("a", "b"), answer="3", where=2, what="It adds <5> & {{ q }}.")
        yield task.model_copy(update={"draft": draft})
        tests = Tests(entry="f", hidden=(ExampleCall(call="f(1)", expected="1"),))
        yield task.model_copy(update={"answer": CODE, "wrong_answer": CODE + CODE, "tests": tests})


def _turns(task: Task) -> list[Turn]:
    check = ProgramCheck(outcome="failed", printed="It gave 3, expected 4.") if task.tests else None
    return [
        Turn(
            party="partner" if i % 2 else "student",
            text=f"```python\n{CODE}```" if task.tests else line.format(task.answer),
            check=None if i % 2 else check,
        )
        for i, line in enumerate(LINES)
    ]

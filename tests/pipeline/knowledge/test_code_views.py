"""Who may see what of a code task: hidden tests are nobody's, the reference program is the key's."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.audit.other_worlds import view_changed
from pipeline.core.schema import ExampleCall, ProgramCheck, Tests, Turn
from pipeline.knowledge.briefing import privileged
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import printed, verdict
from pipeline.knowledge.partition import PARTITIONS, WHERE
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.reading.programs import fenced, program, prose
from pipeline.tasks.code.generated import code_tasks

TASKS = list(itertools.islice(code_tasks("train", "underspecified"), 12)) + list(
    itertools.islice(code_tasks("train", "full"), 12)
)
# Those that code tasks can be played in (pipeline.experiment.checks.method_checks.check_code).
ROWS = [
    Condition(partition=name)
    for name, row in PARTITIONS.items()
    if name not in ("jigsaw", "misled", "fallible", "script") and WHERE not in (row.partner or ())
]
BLIND = [(c, "student") for c in ROWS if c.partition != "mindreader"] + [
    (c, "partner") for c in ROWS if c.partition in ("symmetric", "verifier", "facts")
]
tasks, turns_left = st.sampled_from(TASKS), st.integers(0, 4)


def talk(task, count=4, said="1 of 6 tests passed. It gave 3, expected 4."):
    wrong = "Here it is.\n" + fenced(f"def {task.entry}(*all):\n    return 3")
    texts = ["How are ties broken?", "I do not know that.", wrong, "That is not right."][:count]
    return [
        Turn(
            party="partner" if i % 2 else "student",
            text=text,
            check=ProgramCheck(outcome="failed", printed=said) if text == wrong else None,
        )
        for i, text in enumerate(texts)
    ]


def elsewhere(task):
    """The same task with other hidden tests, another reference and other missing conventions."""
    tests = Tests(entry=task.entry, public=task.tests.public, hidden=(ExampleCall(call="x(1)", expected="987"),))
    facts = tuple(
        fact if fact.public else fact.model_copy(update={"text": "Nemo 987.", "ask": "Nemo?", "topics": ("nemo",)})
        for fact in task.facts
    )
    return task.model_copy(update={"tests": tests, "answer": "def nemo(): 987", "facts": facts})


@given(tasks, turns_left, st.sampled_from(BLIND))
@settings(deadline=None)
def test_a_view_tells_no_hidden_test_reference_or_missing_convention_apart(task, count, reader):
    condition, party = reader
    other = elsewhere(task)
    if condition.partition == "facts" and party == "partner":
        other = other.model_copy(update={"facts": task.facts})
    shown = [view(one, condition, talk(task, count), party) for one in (task, other)]
    assert shown[0] == shown[1]


@given(tasks, turns_left, st.sampled_from([c for c in ROWS if c.partition != "mindreader"]))
@settings(deadline=None)
def test_no_hidden_test_reference_or_missing_convention_is_in_a_students_view(task, count, condition):
    text = str([m["content"] for m in view(task, condition, talk(task, count), "student")])
    assert task.answer.split("\n")[-1].strip() not in text
    for example in task.tests.hidden:
        assert example.call not in text
    for fact in task.missing:
        assert fact.text not in text


def test_what_the_tests_printed_is_shown_to_the_verifying_partner_alone():
    task = TASKS[0]
    turns = talk(task, 3)
    for condition in ROWS:
        for party in ("student", "partner"):
            shown = "It gave 3, expected 4." in str(view(task, condition, turns, party))
            assert shown == (condition.partition == "verifier" and party == "partner"), condition.partition
    verifier = Condition(partition="verifier")
    assert verdict(task, verifier, turns) is False and printed(task, verifier, turns).startswith("1 of 6")
    assert "expected 4" in privileged(task, verifier, turns)


def test_key_holds_program_and_missing_conventions_and_answer_the_program():
    task = TASKS[0]
    opened = {name: view(task, Condition(partition=name), [], "partner")[0]["content"] for name in ("key", "answer")}
    assert all(fenced(task.answer) in text for text in opened.values())
    assert all(fact.text in opened["key"] and fact.text not in opened["answer"] for fact in task.missing)
    for text in opened.values():
        assert not any(example.call in text for example in task.tests.hidden)


@pytest.mark.parametrize("task", TASKS[:3], ids=lambda task: task.kind)
def test_the_audit_of_views_finds_nothing_in_code(task):
    for condition, party in BLIND:
        dialogue = Dialogue(
            id="d",
            task=task,
            condition_name="c",
            condition=condition.shaped(),
            seed=1,
            turns=tuple(talk(task)),
            stop="turn_cap",
        )
        assert not view_changed(view, condition, dialogue, party).hit, (condition.partition, party)


TEXTS = {
    "a block": ("Look:\n```python\ndef f(x):\n    return 1\n```\nDone.", "def f(x):\n    return 1"),
    "the last block": ("```py\ndef f(x): return 1\n```\nNo:\n```\ndef f(x): return 2\n```", "def f(x): return 2"),
    "a call that is shown": ("```\nf(1)\n```", None),
    "a block and its use": ("```\ndef f(x): return 1\n```\n```\nprint(f(1))\n```", "def f(x): return 1"),
    "no fence": ("I would say\ndef f(x):\n    return 1\n\nWhat do you think?", "def f(x):\n    return 1"),
    "another name": ("```\ndef g(x): return 1\n```", "def g(x): return 1"),
    "another name, no fence": ("def g(x): return 1", None),
    "an import before it": ("import math\ndef f(x):\n    return math.pi", "import math\ndef f(x):\n    return math.pi"),
    "cut": ("```python\ndef f(x):\n    return", "def f(x):\n    return"),
    "indented": ("1. So:\n   ```python\n   def f(x):\n       return 1\n   ```", "def f(x):\n    return 1"),
    "words": ("The answer is 3. How do you define f?", None),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_program_of_a_turn_is_its_last_whole_definition(name):
    text, found = TEXTS[name]
    assert program(text, "f") == found


def test_a_comment_in_a_program_asks_nothing():
    assert "?" not in prose("Here.\n```python\ndef f():  # is this right?\n    return 1\n```\nDone.")

"""Files and data sets of functions with unit tests, in the two shapes that are common."""

import asyncio
import json

import pytest

from pipeline.core.errors import ConfigError
from pipeline.sandbox.container import verdict
from pipeline.tasks.code.functions import read
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.settings import Tasks

HUMAN_EVAL = {
    "task_id": "Made/0",
    "prompt": 'def halve(n):\n    """Half of n, rounded down.\n    >>> halve(5)\n    2\n    """\n',
    "entry_point": "halve",
    "canonical_solution": "    return n // 2\n",
    "test": "def check(candidate):\n    assert candidate(5) == 2\n    assert candidate(-1) == -1\n",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function that doubles a number.",
    "code": "def times(n, k):\r\n  return n * k\r\ndef double(n):\r\n  return times(n, 2)",
    "test_list": ["assert double(2) == 4", "assert double(-1) == -2"],
    "test_setup_code": "",
}
ELLIPSIS = MBPP | {
    "code": "def same(x):\n    return x",
    "test_list": ["assert same(...) == ...", "assert same(1) == 1"],
}
WRONG = "def sum(a, b):\n    return 0"
FULL = {"full": 10}


def settings(path, **more):
    return Tasks(source="code", path=str(path), train=FULL, exam=FULL, **more)


def written(folder, *rows):
    path = folder / "rows.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_both_shapes_become_full_tasks_and_are_in_one_split_each(tmp_path):
    path = written(tmp_path, HUMAN_EVAL, MBPP)
    tasks, bad = read(settings(path))
    assert [task.entry for task in tasks] == ["halve", "double"] and not bad
    assert all(task.specification == "full" and not task.missing for task in tasks)
    both = [load_tasks(settings(path), split)[0] for split in ("train", "exam")]
    assert sorted(task.id for part in both for task in part) == sorted(task.id for task in tasks)


def test_the_question_shows_the_first_assertion_alone_and_no_solution(tmp_path):
    [human, mbpp], _ = read(settings(written(tmp_path, HUMAN_EVAL, MBPP)))
    assert "assert double(2) == 4" in mbpp.question and "double(-1)" not in mbpp.question
    assert "`double`" in mbpp.question and "times" not in mbpp.question
    assert "halve(5)" in human.question and "candidate" not in human.question and "n // 2" not in human.question
    assert [(e.call, e.expected) for e in mbpp.tests.public] == [("double(2)", "4")]
    assert [(e.call, e.expected) for e in human.tests.public] == [("halve(5)", "2")]
    assert human.tests.script.endswith("check(halve)\n") and "double(-1) == -2" in mbpp.tests.script


BAD = {
    "not Python": HUMAN_EVAL | {"canonical_solution": "    return (n\n"},
    "does not define check": HUMAN_EVAL | {"test": "assert halve(2) == 1\n"},
    "does not define 'third'": HUMAN_EVAL | {"entry_point": "third"},
    "'prompt' is missing": {k: v for k, v in HUMAN_EVAL.items() if k != "prompt"},
    "no list of assertions": MBPP | {"test_list": "assert double(2) == 4"},
    "none of the functions": MBPP | {"test_list": ["assert triple(2) == 6"]},
    "defines it as async": HUMAN_EVAL | {"test": "async def check(candidate):\n    assert candidate(5) == 3\n"},
    "assert nothing": HUMAN_EVAL | {"test": "def check(candidate):\n    candidate(5)\n"},
    "define 'check' themselves": {key: value.replace("halve", "check") for key, value in HUMAN_EVAL.items()},
    "define 'double' themselves": MBPP | {"test_setup_code": "def double(n): return 2 * n"},
    "'test_imports' is no list": MBPP | {"test_imports": "import math"},
    "'test_setup_code' is no text": MBPP | {"test_setup_code": ["import math"]},
    "what prepares the tests is not Python": MBPP | {"test_setup_code": "import ("},
    "neither 'entry_point' nor": {"question": "Double it."},
    "not JSON": "{",
}


@pytest.mark.parametrize("why", BAD)
def test_a_bad_row_is_told_with_its_place_and_loses_no_other(why, tmp_path):
    tasks, bad = read(settings(written(tmp_path, MBPP, BAD[why], HUMAN_EVAL)))
    assert [task.entry for task in tasks] == ["double", "halve"]
    [row] = bad
    assert row.where.endswith(":2") and why in row.message


def test_the_same_question_twice_is_a_bad_row(tmp_path):
    tasks, bad = read(settings(written(tmp_path, MBPP, MBPP | {"task_id": 8, "text": MBPP["text"] + " "})))
    assert len(tasks) == 1 and "earlier row (7)" in bad[0].message


def test_questions_that_differ_in_a_sign_alone_are_two(tmp_path):
    other = {key: value.replace("//", "%") if isinstance(value, str) else value for key, value in HUMAN_EVAL.items()}
    other["prompt"] = HUMAN_EVAL["prompt"].replace(">>>", "...")
    tasks, bad = read(settings(written(tmp_path, HUMAN_EVAL, other)))
    assert len({task.id for task in tasks}) == 2 and not bad


def test_a_data_set_is_read_like_a_file(tmp_path):
    folder = tmp_path / "made" / "data"
    folder.mkdir(parents=True)
    written(folder, HUMAN_EVAL, HUMAN_EVAL | {"task_id": "Made/1"}).rename(folder / "test.jsonl")
    tasks, bad = read(settings(folder))
    assert [task.entry for task in tasks] == ["halve"] and "test:2" in bad[0].where


def test_rows_with_unit_tests_are_full_only(tmp_path):
    with pytest.raises(ConfigError, match="underspecified"):
        load_tasks(Tasks(source="code", path=str(written(tmp_path, MBPP))), "train")


def test_an_example_is_kept_as_a_call_only_where_it_is_plain_data(tmp_path):
    [task], bad = read(settings(written(tmp_path, ELLIPSIS)))
    assert not bad and not task.tests.public


def test_a_reference_may_have_the_name_of_a_function_of_pythons(tmp_path):
    row = MBPP | {"code": "def sum(a, b):\n    return a + b", "test_list": ["assert sum(1, 2) == 3"]}
    [task], _ = read(settings(written(tmp_path, row)))
    said = [
        asyncio.run(verdict(code, task.tests.script, unsafe=True, entry=task.entry)) for code in (task.answer, WRONG)
    ]
    assert [got.outcome for got in said] == ["passed", "failed"]

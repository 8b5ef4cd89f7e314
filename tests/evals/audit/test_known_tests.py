"""Questions of a known test set are found among what is trained on, however they are put."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from tests.evals.audit.test_audit import audited, red, row


@pytest.mark.parametrize("key", ["question", "prompt", "text"])
def test_a_question_of_a_known_test_set_is_found_and_shown(tmp_path: Path, key: str) -> None:
    rows = [row(i) for i in range(20)]
    known = tmp_path / "test.jsonl"
    shape = {"question": {"answer": "1"}, "prompt": {"entry_point": "f"}, "text": {"test_list": []}}[key]
    known.write_text(json.dumps({key: f"  {rows[7]['question']}"} | shape) + "\n")
    checks = audited(tmp_path, rows, known_tests=[str(known)])
    assert red(checks) == {"contamination"}
    (found,) = [one for one in checks["contamination"].findings if one.verdict == "fail"]
    assert found.rate is not None and found.note == "1 of 15 questions, in 1 rows"
    assert [example.where for example in found.examples] == ["rows.jsonl:8"]


def test_lines_of_a_known_test_set_that_hold_no_question_are_counted(tmp_path: Path) -> None:
    known = tmp_path / "test.jsonl"
    lines = [{"question": "How many?"}, *[{"problem": "How many?"}] * 3, {"test_list": [], "prompt": "Write one."}]
    known.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    checks = audited(tmp_path, [row(i) for i in range(20)], known_tests=[str(known)])
    (found,) = [one for one in checks["contamination"].findings if one.verdict == "fail"]
    assert found.what.endswith("test.jsonl without a question") and found.rate is not None
    assert (found.rate.n, found.rate.value) == (6, pytest.approx(4 / 6))


def test_a_test_set_without_a_question_is_refused(tmp_path: Path) -> None:
    known = tmp_path / "test.jsonl"
    known.write_text('{"prompt": "How many?"}\n')
    with pytest.raises(ConfigError, match=r"known_tests: .*test\.jsonl: none of its lines"):
        audited(tmp_path, [row(i) | {"question": f"Question {i}?"} for i in range(6)], known_tests=[str(known)])


SPOKEN = "zero one two three four five six seven eight nine ten eleven twelve".split()
PROMPT = "Please solve the following math word problem step by step and give the final answer at the end."


def in_words(question: str) -> str:
    return re.sub(r"\b(?:[1-9]|1[0-2]|20)\b", lambda found: [*SPOKEN, *[""] * 7, "twenty"][int(found[0])], question)


@pytest.mark.parametrize(("change", "which"), [
    (in_words, "in test.jsonl"),
    (lambda question: f"{PROMPT} {question}", "in test.jsonl"),
    (lambda question: f"{in_words(question)} {PROMPT}", "in test.jsonl"),
    (lambda question: f"{PROMPT} {question}".replace("at home", "home"), "nearly in test.jsonl"),
    (lambda question: question.replace("sells 20", "sells 200"), "in test.jsonl with other numbers"),
])  # fmt: skip
def test_a_test_question_is_found_reworded_in_a_prompt_and_with_another_number(
    tmp_path: Path, change: Callable[[str], str], which: str
) -> None:
    tests = [
        f"{row(i)['question'][:-1]}, if {row(i)['question'].split()[0]} also finds 7 more in 12 boxes and sells 20?"
        for i in range(60)
    ]
    known = tmp_path / "test.jsonl"
    known.write_text("".join(json.dumps({"question": question}) + "\n" for question in tests))
    rows = [row(i) | {"question": change(question), "split": "all"} for i, question in enumerate(tests)]
    found = audited(tmp_path, rows, known_tests=[str(known)])["contamination"].findings
    (failed,) = [one for one in found if one.verdict == "fail"]
    assert failed.what.endswith(which.replace("test.jsonl", f"{tmp_path.name}/test.jsonl"))
    assert failed.rate is not None and (failed.rate.value, failed.rate.n) == (1, 60)

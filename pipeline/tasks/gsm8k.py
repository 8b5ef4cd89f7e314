"""GSM8K (Cobbe et al., arXiv 2110.14168): full grade-school problems with a worked solution.

`tasks.path` is a local JSON Lines file (question, answer with '#### N', whose lines may be 'sub-question ** step'), or
a hub name such as openai/gsm8k, of which the `main` configuration is read, both of its splits: our own split is by
question, so that no other source trains on what is examined here.

    maieutic preview configs/gsm8k.yaml
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.core.files import file_hash
from pipeline.core.schema import Task, question_hash
from pipeline.tasks.parsing import (
    BadRow,
    RowAndTask,
    distinct,
    full_task,
    gold_and_solution,
    hub_name,
    hub_rows,
    json_lines,
    local_file,
    parse,
    socratic_steps,
    text_of,
    wrong_answer,
)
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source

# The files of github.com/openai/grade-school-math, by their sha256.
PUBLISHED = {
    "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465",  # train.jsonl
    "3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",  # test.jsonl
    "c96673362fa7a699f4836a9b6474a067448f95fe58064727501ee63ba4c3fdb6",  # test_socratic.jsonl
}

WHAT = (
    "a JSON Lines file with question and answer ('... #### N'), or a hub name such as openai/gsm8k, whose owner is no "
    "folder here"
)


def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
    """Every problem of the source. Raises ConfigError where there is nothing to read."""
    name = hub_name(settings.path)
    rows = hub_rows(name, "main") if name else json_lines(local_file(settings, WHAT))
    return parse(rows, distinct(task, _another_answer))


def _another_answer(earlier: RowAndTask, made: RowAndTask) -> str:
    answer = earlier[1].answer
    return "" if answer == made[1].answer else f", with another answer ({answer!r})"


def task(row: dict[str, Any]) -> Task:
    question = text_of(row, "question")
    worked = text_of(row, "answer")
    gold, solution = gold_and_solution(worked)
    return full_task(
        "gsm8k",
        question_hash(question),
        question,
        gold,
        solution=solution,
        steps=socratic_steps(worked, gold),
        wrong_answer=wrong_answer(gold, question),
    )


def _at(path: str) -> Source:
    return SOURCE if path == "openai/gsm8k" or _is_published(path) else _OF_ANYBODY


def _is_published(path: str) -> bool:
    return Path(path).is_file() and file_hash(Path(path)) in PUBLISHED


# Of anybody's file in the same form nothing is known, and its licence is for whoever brings it to say.
_OF_ANYBODY = Source("gsm8k", ("full",), read=read, has_steps=True)
SOURCE = replace(
    _OF_ANYBODY,
    licence=Licence("mit", "Problems are from GSM8K (Cobbe et al., 2021; MIT): name the source."),
    at_path=_at,
)

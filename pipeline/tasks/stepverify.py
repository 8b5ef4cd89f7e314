"""StepVerify (Daheim et al., EMNLP 2024, arXiv 2407.09136): wrong solutions, and where teachers say that they go wrong.

`tasks.path` is its JSON list. A row is a problem, a wrong solution of it in steps, and what one teacher said of that
solution: the first wrong step and, in most rows, a description of the error. The file counts steps from 0, we from 1.
Several rows may hold one solution, with what several teachers said of it; who they are is not in the file.

The wrong solution stands in the question, which both parties read, as a first solution in numbered steps. It is no
turn, for a turn is text that the student would be trained on (`pipeline/tasks/mathdial.py` keeps it off the talk
for the same reason). What the teacher found is `Task.draft`, and only a verifier knows it, in three strengths:

    verifier        that the student's answer is wrong
    verifier_where  the same, and the first wrong step of the first solution
    verifier_what   the same, and what is wrong there, in the teacher's words

A row is a BadRow, so that the strengths are compared on the same rows, where nobody described the error; where the
description gives the answer away (`tells`); where the error is put at the answer, which is no step; and where an
earlier row says the same.

    maieutic preview configs/stepverify_qwen3_0.6b.yaml
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pipeline.core.schema import Draft, Task, digest, question_hash
from pipeline.reading.numbers.equality import equal
from pipeline.reading.numbers.numerals import numbers
from pipeline.reading.numbers.sums import sums
from pipeline.reading.stated_answer import gives_away, mentions
from pipeline.tasks.parsing import (
    BadRow,
    RowError,
    full_task,
    json_list,
    local_file,
    parse,
    solution_text,
    text_of,
    without_commas,
)
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source

WHAT = "StepVerify's JSON list (problem, reference_solution, student_incorrect_solution, incorrect_index, ...)"
SHOWN = "A first solution:"
_NUMBER = re.compile(r"-?\$?\d+(?:\.\d+)?(?:/\d+)?%?")
_OWN_NUMBERING = re.compile(r"^\s*(?:step\s*\d+\s*[:.)-]|\d+[.)](?=\s))\s*", re.I)


class Note(NamedTuple):
    """What one teacher said of one wrong solution."""

    problem: str
    gold: str
    reference: str
    steps: tuple[str, ...]  # without the answer
    answer: str  # that they come to
    where: int  # the first wrong step, from 1; one more than there are: the answer
    what: str  # '' where nobody described the error
    category: str


def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
    """A task for each row that is fit for all three strengths. Raises ConfigError for a file that is no JSON list."""
    seen: set[str] = set()

    def make(row: dict[str, Any]) -> Task:
        made = task(note(row))
        if made.id in seen:
            raise RowError("the same was said of the same solution in an earlier row")
        seen.add(made.id)
        return made

    return parse(_rows(settings), make)


def notes(settings: Tasks) -> tuple[list[Note], list[BadRow]]:
    """What teachers said, with or without a description. Raises ConfigError as `read` does."""
    return parse(_rows(settings), note)


def _rows(settings: Tasks) -> Iterator[tuple[str, Any]]:
    return json_list(local_file(settings, WHAT), "stepverify", WHAT)


def note(row: dict[str, Any]) -> Note:
    """Raises RowError for a row that is no note of a wrong solution."""
    problem, worked = text_of(row, "problem"), text_of(row, "reference_solution").split("\n")
    gold = _number(worked[-1], "the last line of 'reference_solution'")
    lines = row.get("student_incorrect_solution")
    if not isinstance(lines, list) or len(lines) < 2 or not all(isinstance(x, str) and x.strip() for x in lines):
        raise RowError("'student_incorrect_solution' is no list of at least one step and an answer, none of them empty")
    answer = _number(lines[-1], "the last line of 'student_incorrect_solution'")
    if equal(answer, gold):
        raise RowError(f"the wrong solution comes to the right answer, {gold}")
    at = row.get("incorrect_index")
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < len(lines):
        raise RowError(f"'incorrect_index' is {at!r}, expected the place of one of {len(lines)} lines, from 0")
    if text_of(row, "incorrect_step") != lines[at].strip():
        raise RowError(f"'incorrect_step' is not line {at} of 'student_incorrect_solution'")
    what, category = row.get("error_description") or "", row.get("error_category") or ""
    if not isinstance(what, str) or not isinstance(category, str):
        raise RowError("'error_description' and 'error_category' must be text, or null")
    steps = tuple(_OWN_NUMBERING.sub("", line).strip() or line.strip() for line in lines[:-1])
    reference = solution_text("\n".join(worked[:-1]))
    return Note(
        problem=problem,
        gold=gold,
        reference=reference,
        steps=steps,
        answer=answer,
        where=at + 1,
        what=" ".join(what.split()),
        category=category.strip(),
    )


def _number(line: str, where: str) -> str:
    number = without_commas(line.strip(), where)
    if not _NUMBER.fullmatch(number):
        raise RowError(f"{where} is {number!r}, expected a number alone")
    return number


def task(remark: Note) -> Task:
    """The task of a note. Raises RowError where a verifier could not tell it in all three strengths."""
    if not remark.what:
        raise RowError("'error_description' is empty: nobody said what is wrong")
    if remark.where > len(remark.steps):
        raise RowError("the error is put at the answer, which is no step")
    if tells(remark):
        raise RowError(f"'error_description' gives the answer away, {remark.gold}")
    what = remark.what if remark.what[-1] in ".?!" else f"{remark.what}."
    draft = Draft(steps=remark.steps, answer=remark.answer, where=remark.where, what=what, category=remark.category)
    told = full_task(
        "stepverify",
        f"{question_hash(remark.problem)}-{digest(remark.steps, remark.where, remark.what, length=6)}",
        remark.problem,
        remark.gold,
        solution=remark.reference,
        draft=draft,
        wrong_answer=remark.answer,
    )
    return told.model_copy(update={"question": f"{remark.problem}\n{SHOWN}\n{draft.text}"})


def tells(remark: Note) -> bool:
    """Whether the description gives the answer away: the answer's number stands in it, in digits or words, or it is
    told as a result (`pipeline.reading.stated_answer.gives_away`), or is the value of a sum that it states.

    Strict: the number may be another quantity of the problem. What can be worked out from the reason, and is not said,
    it does not find: that is what a description is for.
    """
    sum_of_it = any(equal(str(value), remark.gold) for value in sums(remark.what))
    there = mentions(remark.what, remark.gold) or bool(numbers(remark.gold) & numbers(remark.what))
    return there or sum_of_it or gives_away(remark.what, remark.gold, remark.problem)


SOURCE = Source(
    "stepverify",
    ("full",),
    read=read,
    licence=Licence(
        "cc-by-sa-4.0",
        "Problems, wrong solutions and what teachers found in them are from StepVerify (Daheim et al., 2024), CC BY-SA "
        "4.0, after MathDial (CC BY-SA 4.0) and GSM8K (MIT). This dataset is an adaptation: name all, say what was "
        "changed, and share it under the same licence.",
    ),
    has_first_solutions=True,
)

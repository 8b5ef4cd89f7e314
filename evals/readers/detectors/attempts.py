"""Attempts and stated leaks, against what is known without reading them: every figure of docs/labels.md that can be.

MathDial's teachers said whether the student solved it in the end, and whether they had to reveal the answer. Written
wrong solutions (MathDial, StepVerify) end in a line with the final number alone: that line is cut off, and the rest
has to give it. Rates are over dialogues or solutions; intervals over dialogues, or over problems.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evals.readers.detectors.scores import rate
from evals.readers.published import read_json
from pipeline.core.schema import Json, Task, question_hash
from pipeline.judging.outcome import is_correct
from pipeline.judging.stated_leak import leak_stated
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.reading.attempt import attempt
from pipeline.reading.numbers.equality import equal
from pipeline.reading.stated_answer import mentions, numbers_told
from pipeline.tasks import mathdial
from pipeline.tasks.parsing import BadRow, RowError, json_lines, parse, text_of
from pipeline.tasks.settings import Tasks

MATHDIAL = "mathdial/dialogues.jsonl"
TOLD = {"solved": "Yes", "revealed": "Yes, but I had to reveal the answer", "failed": "No"}


def measure(data: Path, seed: int = 0) -> Json:
    """Figures on MathDial and StepVerify. Raises ConfigError where MathDial's file is not there."""
    dialogues, bad = dialogues_of(data)
    return {
        "dialogues": len(dialogues),
        "bad_rows": len(bad),
        "turns": _turns(dialogues),
        "teachers": {name: _teachers(dialogues, word, seed) for name, word in TOLD.items()},
        "written": {name: _written(*read, seed) for name, read in written_of(data).items()},
    }


def dialogues_of(data: Path) -> tuple[list[Dialogue], list[BadRow]]:
    """MathDial's. Raises ConfigError where the file is not there."""
    settings, condition = (
        Tasks(source="mathdial", path=str(data / MATHDIAL)),
        Condition(partition="key", voice="human"),
    )
    return mathdial.read_dialogues(settings, "human", condition, 1)


def written_of(data: Path) -> dict[str, tuple[list[Solution | None], list[BadRow]]]:
    """The written solutions by corpus, each without its last line; of StepVerify where its file is there."""
    written = {"mathdial": parse(json_lines(data / MATHDIAL, "MAIEUTIC_DATA"), _mathdial_solution)}
    if (steps := data / "stepverify" / "stepverify_half.json").exists():
        written["stepverify"] = parse(_items(steps), _stepverify_solution)
    return written


def _turns(dialogues: Iterable[Dialogue]) -> Json:
    """How many student turns are read as attempts, of how many, and how many of those are a step's result."""
    turns = [(turn.text, d.task) for d in dialogues for turn in d.turns if turn.party == "student"]
    tasks = [task for _, task in turns]
    plain = [attempt(text) for text, _ in turns]
    asked = [attempt(text, task.full_question) for text, task in turns]
    return {
        "n": len(turns),
        "plain": sum(answer is not None for answer in plain),
        "with_question": sum(answer is not None for answer in asked),
        "of_a_step": sum(
            answer is not None and _of_a_step(answer, task) for answer, task in zip(asked, tasks, strict=True)
        ),
    }


def _of_a_step(answer: str, task: Task) -> bool:
    """It is no answer to the task, but the result of a step of its gold solution."""
    steps = [number.written for number in numbers_told(task.solution) if number.result]
    return not equal(answer, task.answer) and any(equal(answer, step) for step in steps)


def _teachers(dialogues: Iterable[Dialogue], word: str, seed: int) -> Json:
    """Of the dialogues with this word of the teacher's: the last attempt is right; a leak is found."""
    chosen = [d for d in dialogues if d.meta["self_correctness"] == word]
    named = [d.id for d in chosen]
    return {
        "right_plain": rate([_last_is_right(d) for d in chosen], named, seed),
        "right_with_question": rate([is_correct(d) for d in chosen], named, seed),
        "leak_stated": rate([leak_stated(d) for d in chosen], named, seed),
        "leak_naive": rate([_mentioned_first_by_the_teacher(d) for d in chosen], named, seed),
    }


def _last_is_right(dialogue: Dialogue) -> bool:
    answers = [
        answer for turn in dialogue.turns if turn.party == "student" and (answer := attempt(turn.text)) is not None
    ]
    return bool(answers) and equal(answers[-1], dialogue.task.answer)


def _mentioned_first_by_the_teacher(dialogue: Dialogue) -> bool:
    """The naive match: the gold number stands in a teacher's turn before any student's."""
    return next((t.party == "partner" for t in dialogue.turns if mentions(t.text, dialogue.task.answer)), False)


class Solution(NamedTuple):
    """A written solution without its last line, and that line: a number."""

    question: str
    text: str
    last: str


def _written(rows: list[Solution | None], bad: list[BadRow], seed: int) -> Json:
    """Without the last line, an attempt is found, and it is that number."""
    known = [row for row in rows if row]
    problems = [question_hash(row.question) for row in known]
    answers = [attempt(row.text, row.question) for row in known]
    right = [(equal(answer, row.last), p) for answer, row, p in zip(answers, known, problems, strict=True) if answer]
    return {
        "bad_rows": len(bad),
        "found_plain": rate([attempt(row.text) is not None for row in known], problems, seed),
        "found": rate([answer is not None for answer in answers], problems, seed),
        "precision": rate([yes for yes, _ in right], [problem for _, problem in right], seed),
    }


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    return ((f"{path}, item {i}", row) for i, row in enumerate(read_json(path)))


def _mathdial_solution(row: dict[str, Any]) -> Solution | None:
    return _cut(text_of(row, "question"), text_of(row, "student_incorrect_solution"))


def _stepverify_solution(row: dict[str, Any]) -> Solution | None:
    steps = row.get("student_incorrect_solution")
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise RowError("'student_incorrect_solution' is no list of steps")
    return _cut(text_of(row, "problem"), "\n".join(steps))


def _cut(question: str, solution: str) -> Solution | None:
    """None where the last line is no number: nothing known is there to find."""
    text, _, last = solution.strip().rpartition("\n")
    number = re.fullmatch(r"[-$£€]*\d[\d,]*(?:\.\d+)?%?", last.strip())
    return Solution(question, text.strip(), last.strip()) if number else None

"""MathDial (Macina et al., arXiv 2305.14536): human teachers tutoring a simulated student, in our schema.

The teacher is the partner of partition `key` in the voice `human`: it had the problem, the gold
solution and the student's wrong solution before it. The wrong solution is the student's own earlier
work. Nobody says it in the talk, so it is kept in `meta`, not as a turn: a turn would be text that the
student model should learn, and would put into the student's view what the corpus did not show us.

`meta` holds moves (one per partner turn, focus | probing | telling | generic, joined by + where turns
of one party were merged, '' where the teacher named none), self_correctness (Yes | Yes, but I had to
reveal the answer | No | '' where unsaid), student_incorrect_solution, scenario and confusion. Turns
have no token counts: nobody generated them here.

    maieutic build configs/mathdial.yaml
"""

from __future__ import annotations

import re
from typing import Any

from pipeline.core.schema import Party, Task, Turn, digest, question_hash
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.parsing import (
    BadRow,
    RowError,
    full_task,
    json_lines,
    local_file,
    parse,
    solution_text,
    text_of,
    without_commas,
)
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source

WHAT = "MathDial's JSON Lines file (question, ground_truth, conversation, ...)"
_TURN = re.compile(r"\s*([^:\n]{1,40}?)\s*:\s*(?:\((focus|probing|telling|generic)\))?\s*(.*)", re.S)


def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
    """The problem of every dialogue, once per question and scenario."""
    tasks, bad = parse(json_lines(local_file(settings, WHAT)), task)
    return list({task.id: task for task in tasks}.values()), bad


def read_dialogues(
    settings: Tasks, condition_name: str, condition: Condition, seed: int
) -> tuple[list[Dialogue], list[BadRow]]:
    """Every dialogue, as one of `condition` and `seed`. Raises ConfigError where there is no file."""
    seen: set[str] = set()

    def make(row: dict[str, Any]) -> Dialogue:
        made = dialogue(row, condition_name, condition, seed)
        if made.id in seen:
            raise RowError("the same dialogue stands in an earlier row")
        seen.add(made.id)
        return made

    return parse(json_lines(local_file(settings, WHAT)), make)


def task(row: dict[str, Any]) -> Task:
    question, gold_lines = text_of(row, "question"), text_of(row, "ground_truth").split("\n")
    gold, wrong = (
        without_commas(gold_lines[-1].strip(), "the last line of 'ground_truth'"),
        text_of(row, "student_incorrect_solution"),
    )
    if not re.fullmatch(r"-?\$?\d+(?:\.\d+)?(?:/\d+)?%?", gold):
        raise RowError(f"the last line of 'ground_truth' is {gold!r}, expected the gold number alone")
    wrong_number = _number(wrong.split("\n")[-1].strip())
    return full_task(
        "mathdial",
        f"{_key(row, 'qid')}-{_key(row, 'scenario')}-{question_hash(question)[:6]}",
        question,
        gold,
        solution=solution_text("\n".join(gold_lines[:-1])),
        wrong_answer=wrong_number,
    )


def _number(text: str) -> str:
    """A bare number; '' of all else, since not every wrong solution ends with one."""
    try:
        number = without_commas(text, "a wrong answer")
    except RowError:
        return ""
    return number if re.fullmatch(r"-?\d+(?:\.\d+)?", number) else ""


def _key(row: dict[str, Any], key: str) -> str:
    if not isinstance(row.get(key), (int, str)) or not str(row[key]).strip():
        raise RowError(f"{key!r} is {row.get(key)!r}, expected a number or a name")
    return str(row[key])


def dialogue(row: dict[str, Any], condition_name: str, condition: Condition, seed: int) -> Dialogue:
    problem, talk = task(row), text_of(row, "conversation")
    turns, moves = _turns(talk)
    return Dialogue(
        id=digest("mathdial", problem.id, condition_name, seed, talk),
        task=problem,
        condition_name=condition_name,
        condition=condition.shaped(),
        seed=seed,
        turns=turns,
        stop="imported",
        meta={
            "moves": moves,
            "self_correctness": row.get("self-correctness") or "",
            "student_incorrect_solution": text_of(row, "student_incorrect_solution"),
            "scenario": _key(row, "scenario"),
            "confusion": row.get("teacher_described_confusion") or "",
        },
    )


def _turns(talk: str) -> tuple[tuple[Turn, ...], list[str]]:
    """Turns that alternate, and the partner's moves. Consecutive turns of one party are merged.

    Raises RowError for a piece without a speaker or text, and for a talk that one party holds alone.
    """
    merged: list[tuple[Party, str, str]] = []
    for i, piece in enumerate(talk.split("|EOM|"), start=1):
        match = _TURN.fullmatch(piece)
        if match is None or not match[3].strip():
            raise RowError(f"turn {i} of 'conversation' is {piece[:40]!r}, expected 'Speaker: (move) text'")
        # The student goes by Student or by a first name.
        party: Party = "partner" if match[1].lower() == "teacher" else "student"
        text, move = match[3].strip(), match[2] or ""
        if merged and merged[-1][0] == party:
            _, before, moved = merged.pop()
            text, move = f"{before}\n{text}", "+".join(filter(None, [moved, move]))
        merged.append((party, text, move))
    if len({party for party, _, _ in merged}) < 2:
        raise RowError("'conversation' has one speaker only")
    turns = tuple(Turn(party=party, text=text) for party, text, _ in merged)
    return turns, [move for party, _, move in merged if party == "partner"]


SOURCE = Source(
    "mathdial",
    ("full",),
    read=read,
    licence=Licence(
        "cc-by-sa-4.0",
        "Dialogues are from MathDial (Macina et al., 2023), CC BY-SA 4.0, problems from GSM8K "
        "(MIT). This dataset is an adaptation: name both, say what was changed, and share it "
        "under the same licence.",
    ),
    dialogues=read_dialogues,
    limits=(
        "The student of MathDial is itself a language model that plays a confused pupil.",
        "The teacher also read the student's wrong solution, which nobody says and no view shows.",
    ),
)

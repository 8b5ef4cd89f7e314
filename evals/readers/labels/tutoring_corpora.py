"""Corpora of tutoring: CIMA's students, the experts of Bridge, MathDial's teachers.

A hash of the conversation decides its part; dialogues about one problem are one conversation.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from evals.readers.labelled_turns import LabelledTurn, Read, part_of
from evals.readers.published import read_json
from pipeline.core.errors import ConfigError
from pipeline.core.schema import digest, question_hash
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks import mathdial
from pipeline.tasks.parsing import RowError, parse, text_of
from pipeline.tasks.settings import Tasks


def cima(path: Path) -> Read:
    """The last turn of each row is the student's, and labelled; rows that share picture and opening are one talk."""
    names = ("guess", "question", "affirmation", "other")

    def make(row: dict[str, Any]) -> LabelledTurn:
        talk, flags = row.get("past_convo"), row.get("studentActions")
        if not isinstance(talk, list) or not talk or not all(isinstance(turn, str) for turn in talk):
            raise RowError("'past_convo' is no list of texts")
        if not isinstance(flags, list) or len(flags) != len(names) or "True" not in map(str, flags):
            raise RowError(f"'studentActions' is {flags!r}, expected four of True and False, one True")
        if not talk[-1].strip():
            raise RowError("the last of 'past_convo' is empty, expected a turn with text")
        labels = tuple(name for name, flag in zip(names, flags, strict=True) if str(flag) == "True")
        lesson = digest(text_of(row, "img"), talk[:2])
        return LabelledTurn(
            corpus="cima",
            conversation=lesson,
            position=len(talk) - 1,
            role="student",
            text=talk[-1],
            before=talk[-2] if len(talk) > 1 else "",
            labels=labels,
            part=part_of(lesson),
            own=False,
        )

    data = read_json(path)
    if not isinstance(data, dict) or not isinstance(data.get("prepDataset"), dict):
        raise ConfigError(f"{path}: no 'prepDataset' that maps names to rows. Use CIMA's dataset.json.")
    return parse(((f"{path}, item {key}", row) for key, row in data["prepDataset"].items()), make)


def bridge(path: Path) -> Read:
    """What an expert would say to a student's mistake; tutors' lines are joined."""

    def make(row: dict[str, Any]) -> LabelledTurn:
        lines = [text_of(turn, "text") for turn in _turns(row, "c_r_") if turn.get("user") == "tutor"]
        past = [str(turn.get("text", "")) for turn in _turns(row, "c_h")]
        if not lines:
            raise RowError("'c_r_' has no line of the tutor")
        lesson = text_of(row, "c_id")
        return LabelledTurn(
            corpus="bridge",
            conversation=lesson,
            position=len(past),
            role="partner",
            text="\n".join(lines),
            before=past[-1] if past else "",
            labels=(text_of(row, "z_what"),),
            part=part_of(lesson),
        )

    files = [path] if path.is_file() else [path / "train.json", path / "validation.json"]
    return parse(((f"{file}, item {i}", row) for file in files for i, row in enumerate(read_json(file))), make)


def _turns(row: dict[str, Any], key: str) -> list[dict[str, Any]]:
    turns = row.get(key)
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise RowError(f"{key!r} is {type(turns).__name__}, expected a list of turns")
    return turns


def teachers(path: Path) -> Read:
    """MathDial's teacher turns; turns without a move have the label ''."""
    settings, condition = Tasks(source="mathdial", path=str(path)), Condition(partition="key", voice="human")
    dialogues, bad = mathdial.read_dialogues(settings, "human", condition, 1)
    return list(_teachers(dialogues)), bad


def _teachers(dialogues: Iterable[Dialogue]) -> Iterator[LabelledTurn]:
    for dialogue in dialogues:
        problem = question_hash(dialogue.task.full_question)
        moves = iter(dialogue.meta["moves"])
        for i, turn in enumerate(dialogue.turns):
            if turn.party == "partner":
                yield LabelledTurn(
                    corpus="mathdial",
                    conversation=problem,
                    position=i,
                    role="partner",
                    text=turn.text,
                    before=dialogue.turns[i - 1].text if i else "",
                    labels=tuple(next(moves).split("+")),
                    part=part_of(problem),
                )

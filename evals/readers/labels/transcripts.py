"""Corpora that come as transcripts, one turn a line: MRDA, SwDA, TalkMoves.

Their files do not mark where a conversation begins. They are cut into stretches of STRETCH lines, which stand for
conversations in intervals, and the first half of the stretches is the training part, so at most one conversation has
turns in both.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evals.readers.labelled_turns import LabelledTurn, Part, Read
from pipeline.tasks.parsing import BadRow, RowError, read_text

STRETCH = {"mrda": 400, "swda": 100, "talkmoves": 500}
Cells = tuple[str, str, str | None, tuple[str, ...]]  # role, text, the turn before if the file has it, labels


def mrda(path: Path) -> Read:
    """speaker|text|basic tag|general tag|full tag"""

    def make(cells: list[str]) -> Cells:
        speaker, text, basic, _, full = cells
        return speaker, text, None, (basic, full)

    return _transcript(path, "mrda", "|", 5, make)


def swda(path: Path) -> Read:
    """speaker|text|tag"""
    return _transcript(path, "swda", "|", 3, lambda cells: (cells[0], cells[1], None, (cells[2],)))


def talkmoves(path: Path) -> Read:
    """text of the turn before, text of a student, number of the move; tab-separated, with a header."""

    def make(cells: list[str]) -> Cells:
        before, text, label = cells
        try:
            return "student", text, before, (str(int(float(label))),)
        except ValueError:
            raise RowError(f"the label is {label!r}, expected a number") from None

    return _transcript(path, "talkmoves", "\t", 3, make, header=True)


def _transcript(
    path: Path,
    corpus: str,
    mark: str,
    width: int,
    make: Callable[[list[str]], Cells],
    header: bool = False,
) -> Read:
    lines = list(enumerate(read_text(path, "MAIEUTIC_DATA").split("\n"), start=1))[int(header) :]
    lines = [(number, line.rstrip("\r")) for number, line in lines if line.strip()]
    turns: list[LabelledTurn] = []
    bad: list[BadRow] = []
    for i, (number, line) in enumerate(lines):
        cells = line.split(mark)
        try:
            if len(cells) != width:
                raise RowError(f"{len(cells)} columns, expected {width}")
            role, text, before, labels = make(cells)
            if not text.strip():
                raise RowError(f"no text in {cells}, expected a turn with words")
        except RowError as error:
            bad.append(BadRow(f"{path}:{number}", str(error)))
            continue
        own = turns[-1].role == role if turns and before is None else None
        before = before if before is not None else turns[-1].text if turns else ""
        stretch = i // STRETCH[corpus]
        part: Part = "train" if stretch < len(lines) / STRETCH[corpus] / 2 else "test"
        turns.append(
            LabelledTurn(
                corpus=corpus,
                conversation=f"{corpus}-{stretch:04d}",
                position=i,
                role=role,
                text=text,
                before=before,
                labels=labels,
                part=part,
                own=own,
            )
        )
    return turns, bad

"""What metrics make of labelled requests: the reader, and the rules that an instrument adds to it.

    python -m evals.readers.turns.as_measured docs/results/lookup_turns.jsonl

`maieutic eval reading` measures the reader alone. The rows have to say which facts are `needed`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.readers.turns.turns_file import LabelledRow, read_turns
from pipeline.core.readings import StudentReading
from pipeline.engines.settings import Engine
from pipeline.reading.instrument import Instrument
from pipeline.reading.open_reader import open_reader
from pipeline.reading.protocol import Reader


class Found(NamedTuple):
    """Of so many turns that ask, by their labels, so many were `found`; `none`: turns found that do not ask."""

    asks: int
    found: int
    none: int

    def __str__(self) -> str:
        return f"{self.found} of {self.asks} found; {self.none} of {self.found + self.none} that are found ask for none"


def as_measured(rows: Sequence[LabelledRow], name: str, reader: Reader) -> dict[str, Found]:
    """By what is asked for, and of which turns."""
    students = [row for row in rows if isinstance(row.truth, StudentReading)]
    readings = asyncio.run(_read(students, Instrument(name, reader)))
    pairs = [(row, row.truth, reading) for row, reading in zip(students, readings, strict=True)]
    lacking = [pair for pair in pairs if missing(pair[0])]
    return {
        f"{what}, {whose}": _found([pair for pair in of if not (first and pair[0].before)], ids)
        for what, of, ids in (("a missing fact", lacking, missing), ("any fact", pairs, every))
        for whose, first in (("all turns", False), ("first turns", True))
    }


def missing(row: LabelledRow) -> set[str]:
    """The facts that its problem needs and does not tell."""
    return {fact.id for fact in row.facts if fact.needed and not fact.public}


def every(row: LabelledRow) -> set[str]:
    """All its facts."""
    return {fact.id for fact in row.facts}


async def _read(rows: Sequence[LabelledRow], instrument: Instrument) -> list[StudentReading]:
    return await asyncio.gather(*(instrument.student(row.turn) for row in rows))


def _found(pairs: Sequence[tuple], ids: Callable[[LabelledRow], set[str]]) -> Found:
    both = [[bool(each.asks & ids(row)) or each.generic_request for each in turn] for row, *turn in pairs]
    return Found(sum(a for a, _ in both), sum(a and b for a, b in both), sum(b and not a for a, b in both))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--reader", default="semantic")
    options = parser.parse_args()
    rows = read_turns(options.file)
    for what, found in as_measured(rows, options.reader, open_reader(options.reader, "", Engine())).items():
        print(f"asks for {what}: {found}")


if __name__ == "__main__":
    main()

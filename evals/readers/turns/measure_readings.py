"""How well a reader reads turns of the format of `evals.readers.turns.turns_file`, class by class.

maieutic eval reading data/reading/test.jsonl --reader semantic --json figures.json
maieutic eval reading data/reading/test.jsonl --reader judge --set model=Qwen/Qwen3-4B --set engine.kind=vllm
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from evals.readers.turns.score_readings import ClassScore, score_readings
from evals.readers.turns.turns_file import LabelledRow, read_turns
from evals.stats.number_format import interval, number
from pipeline.core.config_reading import Section, made_of
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_whole
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Json
from pipeline.engines.settings import Engine
from pipeline.reading.open_reader import open_reader
from pipeline.reading.protocol import Reader, Unread
from pipeline.runs.progress import console, say


class JudgeSettings(Section):
    """Of a judge: its model, and the engine through which it is asked."""

    model: str = ""
    engine: Engine = Engine()


def measure_readings(
    files: Sequence[Path], reader: str, into: Path | None, overrides: tuple[str, ...] = ()
) -> list[Path]:
    """Read all turns of the files, print the table, and write it as JSON where `into` is named. Raises ConfigError."""
    rows = [row for file in files for row in read_turns(file)]
    judge = made_of(JudgeSettings, Path("eval reading"), {}, overrides)
    readings = asyncio.run(read_rows(open_reader(reader, judge.model, judge.engine), rows))
    scores = score_readings(rows, readings)
    console.print(table(f"{reader} {judge.model}".strip(), scores, len(rows)))
    unread = [reading for reading in readings if isinstance(reading, Unread)]
    if unread:
        say(f"{len(unread)} of {len(rows)} turns were not read, such as: {unread[0].message}")
    return [write_whole(into, json.dumps({reader: written(scores)}, indent=1) + "\n")] if into else []


async def read_rows(reader: Reader, rows: Sequence[LabelledRow]) -> list[StudentReading | PartnerReading | Unread]:
    """A reading of each row, in their order."""
    students = await reader.student([row.turn for row in rows if row.kind == "student"])
    partners = await reader.partner([row.turn for row in rows if row.kind == "partner"])
    if len(students) + len(partners) != len(rows):
        given = len(students) + len(partners)
        raise ConfigError(f"the reader gave {given} readings of {len(rows)} turns. Expected one each")
    readings = {"student": iter(students), "partner": iter(partners)}
    return [next(readings[row.kind]) for row in rows]


def table(reader: str, scores: dict[str, ClassScore], turns: int) -> Table:
    shown = Table(title=f"{reader} on {turns} labelled turns (95% intervals over problems)", title_justify="left")
    for column in ("class", "precision", "recall", "F1", "interval", "n"):
        shown.add_column(column, justify="left" if column == "class" else "right")
    for name, row in written(scores).items():
        figures = (number(row[key]) for key in ("precision", "recall", "f1"))
        shown.add_row(name, *figures, interval(row), str(row["n"]))
    return shown


def written(scores: dict[str, ClassScore]) -> Json:
    """{class: {precision, recall, f1, low, high, n}}; null where a figure is not defined."""
    return {
        name: {key: None if math.isnan(value) else value for key, value in score._asdict().items()}
        for name, score in scores.items()
    }

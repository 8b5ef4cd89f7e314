"""How well attempts and leaks are found, where their corpora are; a part of `maieutic eval labels CONFIG`."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from evals.readers.detectors import attempts, functional_leak_reader, mrbench, read_turns, stated_leak_detectors
from evals.readers.detectors.detectors_page import PageSection, headline, sections
from pipeline.core.schema import Json
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.reading.instrument import Instrument
from pipeline.reading.open_reader import open_reader
from pipeline.runs.progress import console, say

NEEDED = ("mathdial/dialogues.jsonl", "stepverify/stepverify_half.json", mrbench.PLACE)
SAMPLES = 4


def detect(data: Path, reader: str, engine: Engine, reads: str = "") -> tuple[Json | None, list[PageSection]]:
    """Every figure, and what is shown of them; None and nothing where a corpus is absent, which is said.

    `reader` is a model that stands for a frozen reader; without one the functional leak is that of the reader by rule.
    `reads` names a reader of turns, which is measured on the same corpora.
    """
    if absent := [place for place in NEEDED if not (data / place).exists()]:
        say(f"attempts and leaks: SKIPPED, {', '.join(str(data / place) for place in absent)} not there")
        return None, []
    figures: Json = {"attempts": attempts.measure(data), "leaks": stated_leak_detectors.measure(data)}
    if reader:
        replies, _ = mrbench.read(data / mrbench.PLACE)
        measured = functional_leak_reader.measure(open_model(engine, reader), replies, SAMPLES)
        figures["reader"] = {"model": Path(reader).name} | measured
    if reads:
        figures["reads"] = read_turns.measure(data, Instrument(reads, open_reader(reads)))
    return figures, sections(figures["attempts"], figures["leaks"], figures.get("reader"), figures.get("reads"))


def show_detected(figures: Json, shown: list[PageSection]) -> None:
    """What decides, and what is measured against the teachers' own word and written solutions."""
    for section in shown[:1] + shown[3:]:
        table = Table(*section.columns, title=section.title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for row in section.rows:
            table.add_row(*map(escape, row))
        console.print(table)
    say(escape(headline(figures["leaks"])))

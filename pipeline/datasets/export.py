"""Dialogues to datasets: Parquet that TRL reads, with a card beside it.

A row's messages are the student's view of one dialogue and nothing else, so no private fact reaches
a dataset but through the text of a turn. `learn` marks the messages that carry loss; they are all the
student's own. Of a method that trains a partner (`dpo_judge`) both are the partner's. A condition's file of dialogues
is opened twice: to survey it, and to make rows at the places that were chosen, whatever the number of formats.

    maieutic build configs/quickstart.yaml     # writes runs/quickstart/datasets/<condition>/
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as parquet

from pipeline.core.files import write_whole, written_whole
from pipeline.core.id_set import IdSet
from pipeline.datasets.card import card
from pipeline.datasets.condition_rows import NotExportable, check_exportable, condition_rows
from pipeline.datasets.dataset_files import dataset_path, stream_rows
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.datasets.learning_rules import LEARNING_RULES, Format
from pipeline.datasets.rows import Row
from pipeline.datasets.survey import Survey, surveyed
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import Violation
from pipeline.knowledge.records import Dialogue
from pipeline.runs.progress import say


class ExportReport(NamedTuple):
    """Counts of one condition. Of all but pairs a record gives one row: taken == rows + nothing_learned."""

    condition_name: str
    dialogues: int  # in the pool
    leaks: int  # of them, in which the partner states the gold answer unearned
    taken: int  # what the method takes of the pool: selected dialogues, all dialogues, or branches
    rows: int
    nothing_learned: int  # taken, but it teaches nothing
    path: Path


def export(experiment: Experiment, condition_name: str, format: Format | None = None) -> ExportReport:
    """Write a condition's rows into datasets/<condition>/<format>/train.parquet, and the card.

    Without a format it is what the condition's method learns from. Raises NotExportable
    (pipeline.datasets.condition_rows).
    """
    trains = LEARNING_RULES[experiment.conditions[condition_name].method].format
    format = format or trains
    check_exportable(experiment, condition_name, format)
    folder = dataset_path(experiment, condition_name).parent
    with _tagged_survey(experiment, condition_name, folder / "violations.jsonl") as survey:
        if format != trains and (folder / trains).is_dir():
            _require_same(survey, trains)
        taken, written, empty = _write(survey, format, folder)
        if format == trains:  # others were made of the same dialogues
            for other in (each for each in FORMATS if each != trains and (folder / each / "train.parquet").exists()):
                try:
                    _write(survey, other, folder)
                except NotExportable:  # an earlier version did export it
                    shutil.rmtree(folder / other)
        files = {each: folder / each / "train.parquet" for each in FORMATS}
        counts = {each: parquet.read_metadata(path).num_rows for each, path in files.items() if path.exists()}
        write_whole(folder / "README.md", card(survey, {trains: 0} | counts))
        return ExportReport(
            condition_name=condition_name,
            dialogues=len(survey.dialogues),
            leaks=sum(record.leaks for record in survey.dialogues),
            taken=taken,
            rows=written,
            nothing_learned=empty,
            path=folder / format,
        )


def _require_same(survey: Survey, trains: Format) -> None:
    """Raises NotExportable where the rows that a condition learns from are of other dialogues than there are now: one
    card is of all its formats."""
    now = IdSet(row["id"] for rows in condition_rows(survey, trains).rows for row in rows)
    there = IdSet(row["id"] for row in stream_rows(survey.experiment, survey.condition_name))
    if len(now) != len(there) or not now.have(there.hashes).all():
        raise NotExportable(
            f"{survey.condition_name}: its {trains} rows are of other dialogues than there are now, as after a build "
            "that was stopped. `maieutic build` makes them again; then export"
        )


@contextmanager
def _tagged_survey(experiment: Experiment, condition_name: str, path: Path) -> Iterator[Survey]:
    """The survey of a condition; into `path` a line for each dialogue whose partner violated its knowledge constraint:
    the tag by which a reader of the rows finds them."""
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8") as file:

        def tag(dialogue: Dialogue, violated: Sequence[Violation]) -> None:
            if violated:
                line = {"id": dialogue.id, "violations": [violation._asdict() for violation in violated]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

        with surveyed(experiment, condition_name, tag) as survey:
            yield survey


def _write(survey: Survey, format: Format, folder: Path) -> tuple[int, int, int]:
    """One format's rows. Returns how many records were taken, the rows, and records that gave none."""
    of_records, empty = condition_rows(survey, format), 0

    def flat() -> Iterator[Row]:
        nonlocal empty
        for rows in of_records.rows:
            empty += not rows
            yield from rows

    written = write_rows(folder / format, flat(), FORMATS[format])
    return of_records.records, written, empty


def known(name: str) -> Format:
    """A format by its name. Raises NotExportable."""
    if name not in FORMATS:
        raise NotExportable(f"FORMAT: {name!r} is not a format. Known: {', '.join(FORMATS)}, and of a run inspect")
    return name


def export_all(experiment: Experiment, name: str) -> None:
    """`export` of every condition that has rows in a format. Raises NotExportable where none has."""
    format, done = known(name), 0
    for condition_name, condition in experiment.conditions.items():
        if not dataset_path(experiment, condition_name).is_dir():
            say(
                f"left out: {condition_name} has no dataset yet. `maieutic build` makes it, or `maieutic run` where it "
                "waits"
            )
            continue
        if format == LEARNING_RULES[condition.method].format:
            say(f"export {condition_name}: {format} is what its method learns from, it is there already")
            done += 1
            continue
        try:
            report = export(experiment, condition_name, format)
        except NotExportable as error:
            say(f"left out: {error}")
            continue
        done += 1
        say(f"export {condition_name}: {report.rows} rows in {report.path}")
    if not done:
        raise NotExportable(f"FORMAT: no condition has rows in {format!r}; the reasons stand above")

"""The exam cases that a run has on disk, and whether they are of its students as they are now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from evals.metrics.case_file import cases_of
from evals.stats.intervals import Tables, tabulate
from pipeline.engines.weights import weights_id
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.fields import UNTRAINED
from pipeline.runs.directory import newest_adapter
from pipeline.runs.student_files import case_files, results_folder, results_path, seed_of


def results(run: Path, condition_name: str) -> Tables:
    """The exam cases of one condition, by seed; empty where it was not examined."""
    return tabulate({seed_of(file): cases_of(file) for file in case_files(results_folder(run, condition_name))})


def partly_examined(experiment: Experiment) -> list[Cell]:
    """Students at some of whose scenarios the engine failed: they are asked again, where they are still here."""
    partly = [cell for cell in _examined(experiment) if not _sat(cell).is_file()]
    return [cell for cell in partly if cell.condition_name in UNTRAINED or newest_adapter(cell)]


def _examined(experiment: Experiment) -> list[Cell]:
    """Who has exam cases, be they partial."""
    sitters = cells(experiment, [*UNTRAINED, *experiment.conditions], experiment.rounds - 1)
    return [cell for cell in sitters if results_path(cell).is_file()]


def _sat(cell: Cell) -> Path:
    """What is written down of a student once it has sat all of its exams."""
    return results_path(cell).with_suffix(".student.json")


def not_of_today(experiment: Experiment) -> Iterator[str]:
    """In words, each student whose cases are partial, or older than its adapter, and whether students were asked in
    unlike words. A run may lie here without its adapters, so nothing is said of those that are absent."""
    asked: dict[str, set[str]] = {"prompts": set(), "labeller": set()}
    for cell in _examined(experiment):
        sat, adapter = _sat(cell), newest_adapter(cell)
        if not sat.is_file():
            yield f"{cell}: the engine failed at some scenarios of its exams; `maieutic eval` asks them again"
            continue
        record = json.loads(sat.read_text(encoding="utf-8"))
        for key, seen in asked.items():
            seen |= {record[key]} if key in record else set()
        if adapter and record["adapter"] != weights_id(str(adapter)):
            yield f"{cell}: trained anew since it sat the exams; `maieutic eval` examines it again"
    yield from (
        f"students sat the exams with unlike {key}; `maieutic eval` examines those again that are of before"
        for key, seen in asked.items()
        if len(seen) > 1
    )

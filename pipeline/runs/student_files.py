"""What students leave in a run: results/CONDITION/seed-N.jsonl, with what was said beside it, and
adapters/CONDITION/seed-N/training.json."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.core.schema import Json
from pipeline.experiment.cell import Cell

WARMUP = "warmup"  # the folder in a run where its base is warmed up: a run of one condition of that name
MADE_FROM = "made_from.json"  # in the folder of a base with an adapter merged in: of which weights, which adapter
RECORD = "training.json"  # in the folder of an adapter: what it was made from, and how


def results_folder(run: Path, condition_name: str) -> Path:
    return run / "results" / condition_name


def results_path(cell: Cell) -> Path:
    """Where the exam cases of a student are stored."""
    return results_folder(cell.experiment.run, cell.condition_name) / f"seed-{cell.seed}.jsonl"


def case_files(folder: Path) -> list[Path]:
    """Those of one condition's students, by name."""
    return [file for file in sorted(folder.glob("seed-*.jsonl")) if file.stem.removeprefix("seed-").isdecimal()]


def said_files(run: Path, condition_name: str, kind: str) -> list[Path]:
    """What a condition's students said in their exams, such as its `episodes`, a file of each seed, by name."""
    return sorted(results_folder(run, condition_name).glob(f"seed-*.{kind}.jsonl"))


def seed_of(file: Path) -> int:
    """Of a student whose cases, or whose words, these are."""
    return int(file.name.removeprefix("seed-").partition(".")[0])


def trainings(run: Path, condition_name: str) -> list[Json]:
    """What is written down of how a condition's students were trained, one of each seed and round, by name."""
    files = sorted((run / "adapters" / condition_name).glob(f"seed-*/{RECORD}"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]

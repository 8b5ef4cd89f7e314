"""The exam cases that a run has on disk."""

from __future__ import annotations

from pathlib import Path

from evals.metrics.case import Case
from evals.metrics.case_file import cases_of
from evals.stats.intervals import Tables, tabulate


def results(folder: Path) -> Tables:
    """The exam cases of one condition, by seed; empty where it was not examined."""
    cases: dict[int, list[Case]] = {}
    for file in sorted(folder.glob("seed-*.jsonl")):
        number = file.stem.removeprefix("seed-")
        if number.isdecimal():  # seed-1.episodes.jsonl holds what was said, not cases
            cases[int(number)] = cases_of(file)
    return tabulate(cases)

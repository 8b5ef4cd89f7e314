"""Work in processes: what stops one cell stops no other, and says what it would have said here."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import RunError
from pipeline.experiment.cell import Cell
from pipeline.runs.processes import each
from tests.builders import small_experiment

WORKER = """
import os
from pipeline.core.errors import ConfigError
from pipeline.reading.protocol import NotRead, Unread
from pipeline.runs.worker import work_for_another

def work(cell, told):
    with told("work") as progress:
        progress(1, 1)
    if cell.seed == 1:
        os._exit(9)
    if cell.seed == 2:
        raise ConfigError("no such key")
    if cell.seed == 3:
        raise NotRead(Unread("mumbled"))
    return cell.seed

if __name__ == "__main__":
    work_for_another(work)
"""


def test_one_that_dies_or_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_worker.py").write_text(WORKER)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "here" / "pipeline").mkdir(parents=True)
    (tmp_path / "here" / "pipeline" / "__init__.py").touch()  # a user's folder of that name
    monkeypatch.chdir(tmp_path / "here")
    made = small_experiment(seeds=range(1, 7))
    found = [answer for _, answer in each("own_worker", "work", [Cell(made, "facts", seed) for seed in made.seeds], 2)]
    died, failed, unread, *others = found
    assert isinstance(died, RunError) and "work facts seed 1: its process ended with code 9" in str(died)
    assert (str(failed), str(unread), others) == ("no such key", "mumbled", [4, 5, 6])

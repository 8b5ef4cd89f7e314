"""Work in processes: what stops one cell stops no other, and says what it would have said here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from pipeline.core.errors import RunError
from pipeline.experiment.cell import Cell
from pipeline.runs.processes import begin_early, begun_early, each, kept
from pipeline.runs.worker import Work
from tests.builders import small_experiment

WORK = """
import os
from pipeline.core.errors import ConfigError
from pipeline.reading.protocol import NotRead, Unread

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

def process(cell, told):
    with open(cell.experiment.out, "a") as log:
        log.write(f"{cell.label('did')}\\n")
    if cell.seed == 2:
        raise ConfigError("no such key")
    return os.getpid()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A module of work, which lies outside of us."""
    (tmp_path / "own_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    return import_module("own_work")


def six(work_log: Path) -> list[Cell]:
    made = small_experiment(seeds=range(1, 7), out=str(work_log))
    return [Cell(made, "facts", seed) for seed in made.seeds]


def test_one_that_dies_or_fails_stops_no_other(own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "pipeline").mkdir(parents=True)
    (tmp_path / "here" / "pipeline" / "__init__.py").touch()  # a user's folder of that name
    monkeypatch.chdir(tmp_path / "here")
    found = [answer for _, answer in each(own.work, "work", six(tmp_path), 2)]
    died, failed, unread, *others = found
    assert isinstance(died, RunError) and "work facts seed 1: its process ended with code 9" in str(died)
    assert (str(failed), str(unread), others) == ("no such key", "mumbled", [4, 5, 6])


def test_kept_processes_do_a_later_stage_early_and_in_order(own, tmp_path: Path) -> None:
    cells, log = six(tmp_path / "log"), tmp_path / "log"
    work: Work = own.process

    def begin() -> None:
        for cell in cells[:3]:
            begin_early(work, "exam", cell, after=cell.label("train"))

    with kept():
        trained = [came for _, came in each(work, "train", cells[:2], 1, begin)]
        assert [begun_early("exam", cell) for cell in cells] == [True, False, True, False, False, False]
        sat = [came for _, came in each(work, "exam", [cells[0], cells[2], cells[3]], 1)]
        assert not begun_early("exam", cells[0])  # it was fetched
    assert str(trained[1]) == "no such key"
    assert len({trained[0], *sat}) == 1, "another process was started for the later stage"
    assert log.read_text().split("\n")[:-1] == [f"did facts seed {seed}" for seed in (1, 2, 1, 3, 4)]


def test_without_kept_processes_nothing_begins_early(own, tmp_path: Path) -> None:
    first, *_, last = six(tmp_path / "log")
    (found,) = each(own.process, "train", [first], 1, lambda: begin_early(own.process, "exam", last, after=""))
    assert found[0] == first and not begun_early("exam", last)


def test_another_number_of_processes_waits_for_what_began_early(own, tmp_path: Path) -> None:
    cells = six(tmp_path / "log")
    with kept():
        first = list(each(own.process, "train", cells[:1], 1, lambda: begin_early(own.process, "exam", cells[2], "")))
        early = list(each(own.process, "exam", cells[2:3], 2))
        later = list(each(own.process, "more", cells[3:], 2))
    processes = [[process for _, process in found] for found in (first, early, later)]
    assert processes[0] == processes[1] and not set(processes[0]) & set(processes[2])

"""Work in processes: what stops one cell stops no other, and says what it would have said here."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import torch

from pipeline.core.errors import RunError
from pipeline.experiment.cell import Cell
from pipeline.runs.processes import begin_early, begun_early, each, kept, room_for
from pipeline.runs.worker import Work
from pipeline.sandbox.checks import CHECKER
from tests.builders import small_experiment

WORK = """
import os
import weakref
from pipeline.core.errors import ConfigError
from pipeline.reading.protocol import NotRead, Unread
from pipeline.sandbox.bubblewrap import ContainmentMissing
from pipeline.sandbox.checks import CHECKER

def work(cell, told):
    with told("work") as progress:
        progress(1, 1)
    if cell.seed == 1:
        os._exit(9)
    if cell.seed == 2:
        raise ConfigError("no such key")
    if cell.seed == 3:
        raise NotRead(Unread("mumbled"), "student")
    return cell.seed

def contained(cell, told):
    if cell.seed == 1:
        raise ContainmentMissing("bwrap is not installed")
    return not CHECKER.unsafe

class Model:
    pass

models = []

def process(cell, told):
    with open(cell.experiment.out, "a") as log:
        log.write(f"{cell.label('did')}\\n")
    if cell.seed == 2:
        model = Model()
        models.append(weakref.ref(model))
        raise ConfigError("no such key")
    return os.getpid(), sum(one() is not None for one in models)
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
    with kept():
        begin = partial(begin_early, work, "exam", cells[:3], 1, after="train")
        trained = [came for _, came in each(work, "train", cells[:2], 1, begin)]
        assert [begun_early("exam", cell) for cell in cells] == [True, False, True, False, False, False]
        sat = [came for _, came in each(work, "exam", [cells[0], cells[2], cells[3]], 2)]
        assert not begun_early("exam", cells[0])  # it was fetched
        ((_, again),) = each(work, "exam", [cells[1]], 1)  # what could not begin early
    assert str(trained[1]) == str(again) == "no such key"
    assert len({trained[0], *sat}) == 1, "another process was started, or held the model of the work that failed"
    assert log.read_text().split("\n")[:-1] == [f"did facts seed {seed}" for seed in (1, 2, 1, 3, 4, 2)]


def test_nothing_begins_early_without_kept_processes_or_with_another_number_of_them(own, tmp_path: Path) -> None:
    first, *_, last = six(tmp_path / "log")
    begun = list[bool]()

    def begin(at_once: int) -> None:
        begin_early(own.process, "exam", [last], at_once, after="train")
        begun.append(begun_early("exam", last))

    list(each(own.process, "train", [first], 1, partial(begin, 1)))
    with kept():
        list(each(own.process, "train", [first], 1, partial(begin, 2)))
        list(each(own.process, "train", [first], 1, partial(begin, 1)))
    assert begun == [False, False, True]


def test_work_that_began_before_its_stage_is_fetched_by_it_from_the_same_process(own, tmp_path: Path) -> None:
    first, second, *_ = (cell for cell in six(tmp_path / "log") if cell.seed != 2)
    with kept():
        begin_early(own.process, "train", [first], 1)
        assert (begun_early("train", first), begun_early("train", second)) == (True, False)
        (_, one), (_, other) = each(own.process, "train", [first, second], 1)
    assert one == other
    assert (tmp_path / "log").read_text().split("\n")[:-1] == ["did facts seed 1", "did facts seed 3"]


def test_processes_end_with_a_stage_in_which_nothing_began_early(own, tmp_path: Path) -> None:
    first, *_ = six(tmp_path / "log")
    with kept():
        ((_, one),) = each(own.process, "train", [first], 1)
        ((_, other),) = each(own.process, "train", [first], 1)
    assert one != other


def test_a_process_that_cannot_be_started_ends_the_work(own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.runs.processes.WORKER", (str(tmp_path / "nowhere"),))
    with pytest.raises(FileNotFoundError):
        list(each(own.process, "train", six(tmp_path / "log"), 1))


def test_who_waits_for_memory_is_told_so(capsys):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert room_for(3, 1.0) == 2 and not capsys.readouterr().out
        assert room_for(3, 1e15) == 1
    finally:
        torch.set_num_threads(before)
    assert "1 of 2 at a time: each takes 931323.6 GiB of memory" in capsys.readouterr().out


@pytest.mark.parametrize("unsafe", [False, True])
def test_whether_programs_run_uncontained_is_as_it_was_typed_here(own, tmp_path, monkeypatch, unsafe):
    monkeypatch.setattr(CHECKER, "unsafe", unsafe)
    (first, said), (_, contained) = each(own.contained, "build", six(tmp_path / "log")[:2], 2)
    assert first.seed == 1 and contained is not unsafe
    assert str(said).count("bwrap is not installed") == str(said).count("--unsafe") == 1

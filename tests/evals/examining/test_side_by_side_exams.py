"""Students that sit their exams at a time: the same cases as one after the other, and no processes for little work."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from evals.examining.examine import is_done
from evals.examining.side_by_side_exams import room_for_sitters, sit_each
from evals.examining.students import begin_exams_early, examine_all
from pipeline.core.errors import ConfigError
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.engines.weights import weights_at
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.runs.processes import begun_early, kept
from pipeline.runs.store import read
from pipeline.runs.student_files import results_path
from pipeline.runs.usage import Usage
from tests.builders import small_experiment
from tests.training.test_student import row
from training.train_round import train_round


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def bases(out: Path, exam: str = "asking", **sections: object) -> list[Cell]:
    """The untrained base under two seeds."""
    out.mkdir(exist_ok=True)
    made = small_experiment(
        out,
        student={"model": "embedded"},
        engine={"kind": "transformers"},
        seeds=[1, 2],
        tasks={"exam": {"full": 2, "underspecified": 2}},
        exams={"include": [exam], "samples": 2, "episodes": 1},
        **sections,
    )
    return [Cell(made, "base", seed) for seed in made.seeds]


def test_students_side_by_side_say_what_they_say_one_after_the_other(two_threads, tmp_path):
    together = bases(tmp_path / "together")
    sat = [each for _, each in sit_each(together, 2)]
    counted = answers_of(together[0].experiment.run)  # by those who sat, so that no stop loses it
    torch.set_num_threads(1)
    in_turn = bases(tmp_path / "in_turn")
    examine_all(in_turn[0].experiment)
    for cell, other, took in zip(together, in_turn, sat, strict=True):
        assert is_done(cell, None) and took.answers == counted["base", cell.seed] > 0
        assert results_path(cell).read_bytes() == results_path(other).read_bytes()
    assert results_path(together[0]).read_bytes() != results_path(together[1]).read_bytes()


def on_two_bases(out: Path) -> Experiment:
    """Two conditions whose dialogues are selected; the student of the first one learns on another base."""
    other = out / "base"
    shutil.copytree(weights_at("embedded"), other)
    weights = load_file(other / "model.safetensors")
    save_file({name: weight + 0.01 for name, weight in weights.items()}, other / "model.safetensors", {"format": "pt"})
    of_other = {"partition": "facts", "learns_from": "facts", "base": str(other)}
    made = bases(out / "run", conditions={"facts": {"partition": "facts"}, "other": of_other}, training={"steps": 1})
    for name in made[0].experiment.conditions:
        rows = [row(n, 1) for n in range(6)]
        write_rows(dataset_path(made[0].experiment, name), rows, FORMATS["sft"])
    return made[0].experiment.model_copy(update={"seeds": (1,)})


def test_exams_that_begin_beside_the_last_training_are_those_that_come_after_it(
    two_threads, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("evals.examining.side_by_side_exams.WORTH_A_PROCESS", 0.0)
    early = on_two_bases(tmp_path / "early")
    sitters = cells(early, ["base", "facts", "other"], 0)
    with kept():
        train_round(early, ["other", "facts"], 0, partial(begin_exams_early, early))
        assert all(begun_early("examine", cell) for cell in sitters)
        examine_all(early)
    assert capsys.readouterr().out.count("answers, ") == 3
    examine_all(early)
    assert capsys.readouterr().out.count("there already") == 3
    torch.set_num_threads(1)
    late = on_two_bases(tmp_path / "late")
    train_round(late, ["facts", "other"], 0)
    examine_all(late)
    for cell, other in zip(sitters, cells(late, ["base", "facts", "other"], 0), strict=True):
        assert results_path(cell).read_bytes() == results_path(other).read_bytes()
    first, second = (answers_of(run) for run in (early.run, late.run))
    assert first == second and len(first) == 3


def answers_of(run: Path) -> dict[tuple[str, int], int]:
    """Of each who sat, as they are counted; nobody twice."""
    counted = [usage for usage in read(run / "usage.jsonl", Usage) if usage.role == "student"]
    found = {(usage.condition_name, usage.seed): usage.answers for usage in counted}
    assert len(found) == len(counted)
    return found


def test_an_error_of_one_comes_back_as_it_was(two_threads, tmp_path):
    (tmp_path / "my.py").write_text(
        "from evals.sitting.exam import Exam\n"
        "from evals.metrics.metric import Metric\n"
        "from pipeline.core.errors import ConfigError\n"
        "async def sit(sitting): raise ConfigError('no such item')\n"
        "EXAM = Exam(name='own', metrics=(Metric('a', 'a'),), sit=sit, answers=lambda experiment, tasks: 1,\n"
        "            ratios=lambda experiment, understands: {'a'})\n"
    )
    with pytest.raises(ConfigError, match="no such item"):
        list(sit_each(bases(tmp_path / "run", f"{tmp_path}/my.py:EXAM"), 2))


def test_a_second_process_is_for_much_work_and_several_cores(two_threads, tmp_path):
    due = bases(tmp_path / "run")
    assert (room_for_sitters(due, 100), room_for_sitters(due[:1], 10**6), room_for_sitters(due, 10**6)) == (1, 1, 2)
    torch.set_num_threads(1)
    assert room_for_sitters(due, 10**6) == 1


def test_an_interrupt_ends_those_who_sit_side_by_side_at_once(two_threads, tmp_path):
    cells_of_two = bases(tmp_path / "long")
    run = cells_of_two[0].experiment
    exams, tasks = run.exams.model_copy(update={"samples": 400}), run.tasks
    run = run.model_copy(update={"exams": exams, "tasks": tasks.model_copy(update={"exam": {"full": 60}})})

    assert room_for_sitters(cells(run, ["base"], 0), 60 * 400) == 2

    def interrupt_once_one_sits() -> None:
        while not list((run.run / "results").rglob("*.answers")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt_once_one_sits, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        examine_all(run)
    assert not any(is_done(cell._replace(experiment=run), None) for cell in cells_of_two)

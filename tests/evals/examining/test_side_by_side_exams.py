"""Students that sit their exams at a time: the same cases as one after the other, and no processes for little work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import torch

from evals.examining.examine import is_done
from evals.examining.side_by_side_exams import room_for_sitters, sit_each
from evals.examining.students import examine_all
from pipeline.core.errors import ConfigError
from pipeline.experiment.cell import Cell
from pipeline.runs.student_files import results_path
from tests.builders import small_experiment


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def bases(out: Path, exam: str = "asking") -> list[Cell]:
    """The untrained base under two seeds."""
    out.mkdir()
    made = small_experiment(
        out,
        student={"model": "embedded"},
        engine={"kind": "transformers"},
        seeds=[1, 2],
        tasks={"exam": {"full": 2, "underspecified": 2}},
        exams={"include": [exam], "samples": 2, "episodes": 1},
    )
    return [Cell(made, "base", seed) for seed in made.seeds]


def test_students_side_by_side_say_what_they_say_one_after_the_other(two_threads, tmp_path):
    together = bases(tmp_path / "together")
    sat = [each for _, each in sit_each(together, 2)]
    torch.set_num_threads(1)
    in_turn = bases(tmp_path / "in_turn")
    asyncio.run(examine_all(in_turn[0].experiment))
    for cell, other, took in zip(together, in_turn, sat, strict=True):
        assert is_done(cell, None) and took.answers == took.asked["student"].answers > 0
        assert results_path(cell).read_bytes() == results_path(other).read_bytes()
    assert results_path(together[0]).read_bytes() != results_path(together[1]).read_bytes()


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

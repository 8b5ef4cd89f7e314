"""The command that an exam's docstring shows can be run as it stands, from any directory."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from evals.examining.exam_checks import check_exams
from evals.exams.persuasion.claims import disputes
from evals.exams.registry import EXAMS, find_exam
from evals.exams.support.support import said_by_clients
from pipeline.experiment.experiment import Experiment, load

ROOT = Path(__file__).parents[3]


def shown() -> list[tuple[str, str]]:
    """Each exam's command, from the module that has its EXAM."""
    found = []
    for name in EXAMS:
        text = (importlib.import_module(find_exam(name).sit.__module__).__doc__ or "").replace("\\\n", " ")
        found += [(name, line.strip()) for line in re.findall(r"^ +maieutic .*", text, re.MULTILINE)]
    return found


def test_some_exams_show_a_command():
    assert {name for name, _ in shown()} >= {"persuader", "persuasion", "tutoring", "support", "human"}


@pytest.mark.parametrize(("name", "command"), shown())
def test_the_shown_command_loads_sits_its_exam_and_touches_no_other_run(name, command):
    _, what, path, *rest = shlex.split(command)
    assert what == "eval" and rest[::2] == ["--set"] * (len(rest) // 2)
    experiment = load(ROOT / path, tuple(rest[1::2]))
    check_exams(ROOT / path, experiment, tuple(rest[1::2]))
    assert experiment.exams.include == (name,)
    assert experiment.run != load(ROOT / path).run or not rest  # as the config has it, it is the config's own


def test_what_ships_is_found_from_any_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = Experiment(name="t", conditions={"facts": {"partition": "facts"}})
    assert disputes(plain) and said_by_clients()

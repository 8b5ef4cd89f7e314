"""The command that an exam's docstring shows can be run as it stands, from any directory."""

import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import evals.exams
from evals.exams.persuasion.claims import disputes
from evals.exams.registry import EXAMS
from evals.exams.support.support import said_by_clients
from evals.metrics.catalog import check_metrics
from pipeline.experiment.experiment import Experiment, load

ROOT = Path(__file__).parents[3]


def shown() -> list[tuple[str, str]]:
    found = []
    for module in pkgutil.walk_packages(evals.exams.__path__, "evals.exams."):
        text = (importlib.import_module(module.name).__doc__ or "").replace("\\\n", " ")
        found += [
            (module.name.rpartition(".")[2], line.strip()) for line in re.findall(r"^ +maieutic .*", text, re.MULTILINE)
        ]
    return found


def test_some_exams_show_a_command():
    assert {name for name, _ in shown()} >= {"persuader", "persuasion", "tutoring", "disclosure"}


@pytest.mark.parametrize(("name", "command"), shown())
def test_the_shown_command_loads_sits_its_exam_and_touches_no_other_run(name, command):
    _, what, path, *rest = shlex.split(command)
    assert what == "eval" and rest[::2] == ["--set"] * (len(rest) // 2)
    experiment = load(ROOT / path, tuple(rest[1::2]))
    check_metrics(ROOT / path, experiment)
    assert experiment.exams.include == (name,) and name in EXAMS
    assert experiment.run != load(ROOT / path).run


def test_what_ships_is_found_from_any_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = Experiment(name="t", conditions={"facts": {"partition": "facts"}})
    assert disputes(plain) and said_by_clients()

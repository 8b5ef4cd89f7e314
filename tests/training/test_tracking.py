"""Trackers: one run for a student, named after its condition, with losses and then the exam's figures."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_student import experiment

from pipeline.experiment.cell import Cell
from training.student import train
from training.tracking import log_exams


@pytest.fixture
def told(monkeypatch, request) -> list[tuple[Any, ...]]:
    """What a module like trackio or wandb is told, in order."""
    calls: list[tuple[Any, ...]] = []
    fake = SimpleNamespace(
        init=lambda **about: calls.append(("init", about)),
        log=lambda figures, step=None: calls.append(("log", figures, step)),
        finish=lambda: calls.append(("finish",)),
    )
    monkeypatch.setitem(sys.modules, request.param, fake)
    return calls


@pytest.mark.parametrize(("told", "kind"), [("trackio", "trackio"), ("wandb", "wandb")], indirect=["told"])
def test_losses_and_exam_figures_are_one_run_with_the_runs_and_conditions_names(embedded, tmp_path, told, kind):
    cell = Cell(experiment(embedded, tmp_path, report_to=kind), "facts", 1)
    train(cell)
    log_exams(cell, {"ask_needed": 0.25})
    (_, first), (_, again) = (call for call in told if call[0] == "init")
    assert (first["project"], first["name"], first["group"]) == ("tiny", "facts/seed-1", "facts")
    assert first == again and first["resume"] == "allow" and first["config"]["condition"]["partition"] == "facts"
    assert any("train/train_loss" in call[1] for call in told if call[0] == "log")
    assert told[-2:] == [("log", {"exam/ask_needed": 0.25}, None), ("finish",)]
    assert [call[0] for call in told].count("finish") == 2


def test_without_a_tracker_nothing_is_opened(embedded, tmp_path):
    train(Cell(experiment(embedded, tmp_path), "facts", 1))
    assert not (tmp_path / "tensorboard").exists()


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="tensorboard is NOT tested: not installed")
@pytest.mark.filterwarnings("default")  # tensorboard's own
def test_tensorboards_files_hold_the_figures_of_training_and_exams(embedded, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    cell = Cell(experiment(embedded, tmp_path, report_to="tensorboard"), "facts", 1)
    train(cell)
    log_exams(cell, {"ask_needed": 0.25})
    folder: Path = tmp_path / "tensorboard/facts/seed-1"
    held = EventAccumulator(str(folder))
    held.Reload()
    assert {"train/train_loss", "exam/ask_needed"} <= {*held.Tags()["scalars"]}
    assert held.Scalars("exam/ask_needed")[0].value == 0.25

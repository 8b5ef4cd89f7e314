"""Trackers: one run for a student, named after its condition, with losses and then what the exams found."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import test_online
import test_preference
from test_student import experiment

from pipeline.datasets.export import export
from pipeline.experiment.cell import Cell
from training.student import train
from training.tracking import SampleDialogue, log_exams

HOSTILE = "<script>window.hacked = 1</script> \x1b[31mred \u202egnihton\n# no heading\n" + "long " * 2_000_000
SAID = SampleDialogue("facts", "t1", [("student", "How many?"), ("partner", HOSTILE)])


class Table:
    def __init__(self, columns: list[str], data: list[list[str]]):
        self.columns, self.data = columns, data


@pytest.fixture
def told(monkeypatch, request) -> list[tuple[Any, ...]]:
    """What a module like trackio or wandb is told, in order."""
    calls: list[tuple[Any, ...]] = []
    fake = SimpleNamespace(
        init=lambda **about: calls.append(("init", about)),
        log=lambda figures, step=None: calls.append(("log", figures, step)),
        finish=lambda: calls.append(("finish",)),
        Table=Table,
    )
    monkeypatch.setitem(sys.modules, request.param, fake)
    monkeypatch.delenv("WANDB_MODE", raising=False)
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


@pytest.mark.parametrize("told", ["wandb"], indirect=True)
def test_nothing_is_sent_unless_the_trackers_own_variable_says_so(embedded, tmp_path, told, monkeypatch):
    cell = Cell(experiment(embedded, tmp_path, report_to="wandb"), "facts", 1)
    log_exams(cell, {})
    monkeypatch.setenv("WANDB_MODE", "online")
    log_exams(cell, {})
    assert [call[1]["mode"] for call in told if call[0] == "init"] == ["offline", "online"]


@pytest.mark.parametrize("method", ["dpo", "kto", "grpo"])
@pytest.mark.parametrize("told", ["trackio"], indirect=True)
def test_every_way_of_learning_shows_its_losses(embedded, tmp_path, told, method):
    if method == "grpo":
        learning = {"lora": {"r": 4}, "grpo": {"group": 4, "tasks_per_step": 3}, "report_to": "trackio"}
        made = test_online.experiment(embedded, tmp_path, tasks={"train": {"full": 3}}, training=learning)
        export(made, "facts")
    else:
        rows = [test_preference.pair(n) if method == "dpo" else test_preference.talk(n, n % 2 == 0) for n in range(8)]
        made = test_preference.experiment(embedded, tmp_path, rows, method, epochs=1, report_to="trackio")
    train(Cell(made, "facts" if method == "grpo" else method, 1))
    assert any("train/train_loss" in call[1] for call in told if call[0] == "log") and told[-1] == ("finish",)


@pytest.mark.parametrize("told", ["wandb"], indirect=True)
def test_dialogues_are_shown_as_text_with_an_end(embedded, tmp_path, told):
    log_exams(Cell(experiment(embedded, tmp_path, report_to="wandb"), "facts", 1), {}, [SAID])
    [table] = [call[1]["exam/dialogues"] for call in told if call[0] == "log" and "exam/dialogues" in call[1]]
    [[partner, task, text]] = table.data
    assert (partner, task) == ("facts", "t1") and len(text) < 30_000
    assert all(line.startswith("    ") for line in text.splitlines())  # which Markdown leaves as it is
    assert "    student: How many?" in text and "<script>" in text and "‹U+001B›[31mred ‹U+202E›gnihton" in text


def test_without_a_tracker_nothing_is_opened(embedded, tmp_path):
    train(Cell(experiment(embedded, tmp_path), "facts", 1))
    assert not (tmp_path / "tensorboard").exists()


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="tensorboard is NOT tested: not installed")
@pytest.mark.filterwarnings("default")  # tensorboard's own
def test_tensorboards_files_hold_the_figures_of_training_and_exams(embedded, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    cell = Cell(experiment(embedded, tmp_path, report_to="tensorboard"), "facts", 1)
    train(cell)
    log_exams(cell, {"ask_needed": 0.25}, [SAID])
    folder: Path = tmp_path / "tensorboard/facts/seed-1"
    held = EventAccumulator(str(folder))
    held.Reload()
    assert {"train/train_loss", "exam/ask_needed"} <= {*held.Tags()["scalars"]}
    assert held.Scalars("exam/ask_needed")[0].value == 0.25
    [shown] = [tag for tag in held.Tags()["tensors"] if tag.startswith("exam/dialogue")]
    assert b"    partner: <script>" in held.Tensors(shown)[0].tensor_proto.string_val[0]

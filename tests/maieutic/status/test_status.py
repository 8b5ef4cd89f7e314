"""`maieutic status`, and the stages that `maieutic run` plans."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from maieutic.cli import app
from maieutic.status.planned_stages import planned_stages
from pipeline.runs import whole_run
from pipeline.runs.directory import experiment_of
from pipeline.runs.lock import writing
from pipeline.runs.progress import stage
from pipeline.runs.whole_run import followed, read_progress
from tests.evals.made_run import made_run


def status(run: Path) -> str:
    result = CliRunner().invoke(app, ["status", str(run)])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Built, trained and examined, but for one dialogue of blind, seed 2, and the exam of facts under seed 1."""
    made = made_run(tmp_path / "made")
    for file in (made / "results").glob("*/seed-?.jsonl"):
        file.with_suffix(".student.json").write_text("{}\n")
    (made / "results" / "facts" / "seed-1.student.json").unlink()
    dialogues = made / "dialogues" / "blind.jsonl"
    dialogues.write_text("".join(line + "\n" for line in dialogues.read_text().splitlines()[:-1]))
    return made


def test_what_is_missing_of_each_stage_is_counted_in_the_files(run: Path) -> None:
    missing = {planned.label: planned.size for planned in planned_stages(experiment_of(run)) if planned.kinds}
    assert [label for label, size in missing.items() if size] == ["build blind seed 2", "examine facts seed 1"]
    assert missing["build blind seed 2"] == 1
    shown = status(run)
    assert "build 5 6" in shown and "train 6 6" in shown and "examine 7 8" in shown
    assert (
        f"{run}: nobody works on it; `maieutic run` on its config goes on. Missing: 1 build, 1 examine, 1 compare."
        in shown
    )


def test_a_student_that_had_nothing_to_learn_from_is_not_missing(run: Path) -> None:
    (adapter,) = (run / "adapters" / "facts").glob("seed-1")
    shutil.rmtree(adapter)
    adapter.with_name("seed-1.untrained.txt").write_text("no rows\n")
    assert "train 6 6" in (shown := status(run)) and "Missing: 1 build, 1 compare." in shown
    assert "Left untrained, for want of anything to learn from: adapters/facts/seed-1.untrained.txt says why." in shown


def test_while_it_runs_status_tells_what_runs_and_when_it_ends(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_run, "EVERY", 0.0)
    planned = planned_stages(experiment_of(run))
    with writing(run), followed(run, planned), stage("build blind seed 2", 1) as tick:
        assert "its end is not known" in status(run)
        tick()
        shown = status(run)
    assert f"process {os.getpid()}, since" in shown and "now build blind seed 2" in shown
    assert "1 of 1" in shown and "before something of examine is measured" in shown


def test_where_it_stopped_is_told_afterwards(run: Path) -> None:
    planned = planned_stages(experiment_of(run))
    with pytest.raises(KeyError), writing(run), followed(run, planned), stage("examine facts seed 1", 10):
        raise KeyError
    assert "nobody works on it since" in (shown := status(run)) and "which was in examine facts seed 1" in shown


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert result.exit_code == 2 and "no config.yaml here" in result.output


@pytest.mark.slow
def test_every_stage_that_was_planned_begins_under_its_label_and_takes_time(tmp_path: Path) -> None:
    config = {
        "name": "small", "out": str(tmp_path / "run"), "seeds": [1, 2], "rounds": 2, "engine": {"kind": "scripted"},
        "tasks": {"train": {"full": 2, "underspecified": 4}, "exam": {"full": 2, "underspecified": 2}},
        "training": {"epochs": 1}, "exams": {"include": ["asking"]}, "turn_values": {"siblings": 2, "rollouts": 1},
        "conditions": {"facts": {"partition": "facts", "selection": "none"}},
    }  # fmt: skip
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(config))
    said = CliRunner().invoke(app, ["run", str(tmp_path / "small.yaml")])
    assert said.exit_code == 0, said.output
    progress = read_progress(tmp_path / "run")
    assert len(progress.stages) == 19 and not [one.label for one in progress.stages if not one.seconds]
    assert not [
        planned.label for planned in planned_stages(experiment_of(tmp_path / "run")) if planned.kinds and planned.size
    ]
    assert f"{tmp_path / 'run'}: all there." in (shown := status(tmp_path / "run")) and "–" not in shown
    assert json.loads((tmp_path / "run" / "progress.json").read_text())["left"] == 0

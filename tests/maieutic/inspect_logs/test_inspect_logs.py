"""A run's logs are read by inspect_ai: dialogues as they were, and figures that are those of the report."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.examining.examine import figures_of
from maieutic.cli import app
from pipeline.experiment.cell import Cell
from pipeline.runs.student_files import results_path
from tests.maieutic.view.shown_run import HOSTILE, dialogues, said_by_the_student, shown_run

needs_inspect = pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is None, reason="logs of inspect are NOT tested: inspect_ai is not installed"
)
its_own = pytest.mark.filterwarnings("default")  # warnings of inspect_ai, and of what it imports


def exported(tmp_path: Path, text: str = "The answer is 5.", exam: str = "made") -> Path:
    run = shown_run(tmp_path / "run").path
    said_by_the_student(run, "facts", text)
    for file in (run / "results").rglob("seed-?.jsonl"):
        file.write_text(file.read_text().replace('"made"', f'"{exam}"'))
    done = CliRunner().invoke(app, ["export", str(run), "inspect"])
    assert done.exit_code == 0, done.output
    return run


@needs_inspect
@its_own
def test_a_dialogue_is_a_sample_with_what_its_student_read_and_said(tmp_path):
    from inspect_ai.log import read_eval_log

    long = HOSTILE + (" " + "long" * 250) * 10_000  # 10 MB
    run = exported(tmp_path, long)
    log = read_eval_log(str(run / "inspect/facts/seed-1/training_dialogues.eval"))
    assert log.status == "success" and log.eval.model == "embedded/facts" and log.eval.tags == ["facts", "seed-1"]
    made = {one.id: one for one in dialogues(run) if one.condition_name == "facts" and one.seed == 1}
    assert log.samples and {sample.metadata["dialogue"] for sample in log.samples} == set(made)
    for sample in log.samples:
        own = [turn.text for turn in made[sample.metadata["dialogue"]].turns if turn.party == "student"]
        assert [message.text for message in sample.messages if message.role == "assistant"] == own
        assert made[sample.metadata["dialogue"]].task.question in sample.messages[0].text
    assert any(sample.messages[-1].text == long for sample in log.samples)


@needs_inspect
@its_own
def test_an_exams_figures_are_those_of_the_report_and_its_samples_are_tasks(tmp_path):
    from inspect_ai.log import read_eval_log

    run = exported(tmp_path, exam="asking")
    experiment = shown_run(tmp_path / "again").experiment.model_copy(update={"out": str(run)})
    cell = Cell(experiment, "facts", 2)
    log = read_eval_log(str(run / "inspect/facts/seed-2/asking.eval"))
    assert log.samples and log.results
    cases = [json.loads(line) for line in results_path(cell).read_text().splitlines()]
    assert {sample.id for sample in log.samples} == {case["task"] for case in cases}
    told = {score.name: score.metrics["value"].value for score in log.results.scores}
    figures = {name: value for name, value in figures_of(cell).items() if name in told}
    assert len(figures) > 10 and {name: told[name] for name in figures} == pytest.approx(figures)
    assert {"ask_skill", "ask_needed (greedy)"} <= set(told)


@needs_inspect
@its_own
def test_logs_of_other_programs_stay_and_those_of_an_earlier_export_do_not(tmp_path):
    run = exported(tmp_path)
    theirs, earlier = run / "inspect" / "2026-01-01_eval.eval", run / "inspect" / "gone" / "seed-1" / "asking.eval"
    earlier.parent.mkdir(parents=True)
    for file in (theirs, earlier):
        file.write_bytes(b"paid for")
    made = {file for file in (run / "inspect").rglob("*.eval")} - {theirs, earlier}
    done = CliRunner().invoke(app, ["export", str(run), "inspect"])
    assert done.exit_code == 0 and {*(run / "inspect").rglob("*.eval")} == made | {theirs}


@needs_inspect
@its_own
def test_its_analysis_takes_all_logs_as_one_table(tmp_path):
    from inspect_ai.analysis import evals_df, samples_df
    from inspect_ai.log import list_eval_logs

    run = exported(tmp_path)
    logs = list_eval_logs(str(run / "inspect"))
    table = evals_df(logs, quiet=True)
    assert len(table) == len(logs) > 6
    assert {"embedded/base", "embedded/facts", "embedded/blind"} <= {*table["model"]}
    assert {"training_dialogues", "exam_dialogues", "made"} <= {*table["task_name"]}
    samples = samples_df(logs, quiet=True)
    assert {"asked", "missed"} <= {*samples["score_asking"].dropna()}


@needs_inspect
@its_own
def test_samples_of_two_runs_of_one_name_are_all_there(tmp_path):
    from inspect_ai.analysis import samples_df
    from inspect_ai.log import list_eval_logs

    runs = [exported(tmp_path / name) for name in ("a", "b")]
    one, both = (samples_df(list_eval_logs(str(folder)), quiet=True) for folder in (runs[0] / "inspect", tmp_path))
    assert len(both) == 2 * len(one) > 0


def test_without_inspect_it_is_said_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    run = shown_run(tmp_path / "run").path
    done = CliRunner().invoke(app, ["export", str(run), "inspect"])
    assert done.exit_code == 2 and "pip install 'maieutic[inspect]'" in done.output
    assert not (run / "inspect").exists()

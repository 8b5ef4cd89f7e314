"""The same command again works nothing out that is there, and all that has changed."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import rmtree

import pytest

import maieutic
from maieutic import finished_stages
from pipeline.experiment.experiment import Experiment, dump
from pipeline.runs.directory import experiment_of
from tests.builders import small_experiment
from tests.evals.made_run import made_run


def small(run: Path, **sections: object) -> Experiment:
    tasks = {"train": {"full": 3, "underspecified": 3}, "exam": {"full": 1}}
    return small_experiment(run, seeds=[1, 2], tasks=tasks, **sections)


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is worked out, each time that it is: dialogues are looked at, datasets and a report are made."""
    done: list[str] = []
    for name, of in {
        "maieutic.workflow.build_round": "build",
        "pipeline.datasets.export.export": "select",
        "evals.report.summary.summarize": "compare",
    }.items():
        module, _, function = name.rpartition(".")
        real = getattr(__import__(module, fromlist=[function]), function)
        monkeypatch.setattr(name, lambda *args, real=real, of=of, **more: (done.append(of), real(*args, **more))[1])
    return done


def content(run: Path) -> dict[str, bytes]:
    """Of all files but those that say what was done, and what it took."""
    files = (file for file in run.rglob("*") if file.is_file() and file.name not in ("finished.json", "usage.jsonl"))
    return {str(file): file.read_bytes() for file in files}


def test_a_build_that_is_there_is_neither_looked_through_nor_selected_again(tmp_path, worked, capsys):
    maieutic.build(small(tmp_path / "run"))
    assert worked == ["build", "select"]
    before = content(tmp_path / "run")
    capsys.readouterr()
    maieutic.build(small(tmp_path / "run"))
    assert worked == ["build", "select"] and content(tmp_path / "run") == before
    assert "dialogues and datasets: there already" in capsys.readouterr().out


def test_what_was_deleted_of_a_build_is_made_again_as_it_was(tmp_path, worked):
    run = tmp_path / "run"
    maieutic.build(small(run))
    before, file = content(run), run / "dialogues/facts.jsonl"
    rmtree(run / "datasets")
    maieutic.build(small(run))
    assert worked == ["build", "select"] * 2 and content(run) == before
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    maieutic.build(small(run))
    # A script says the same again, so that the dataset is of these very dialogues.
    assert worked == [*["build", "select"] * 2, "build"] and content(run) == before
    first, *others = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*others, first]))
    maieutic.build(small(run))
    assert worked == [*["build", "select"] * 2, "build", "build", "select"]


def test_a_build_that_was_killed_before_its_last_stage_does_not_select_again(tmp_path, worked, monkeypatch):
    monkeypatch.setattr("maieutic.workflow.finish_rounds", lambda *_: None)
    for _ in range(2):
        maieutic.build(small(tmp_path / "run"))
    assert worked == ["build", "select", "build"]


@pytest.mark.parametrize("change", ["a free key of the config", "the version of the code"])
def test_another_config_or_version_has_a_build_looked_through_again(tmp_path, worked, monkeypatch, change):
    maieutic.build(small(tmp_path / "run"))
    if change == "the version of the code":
        monkeypatch.setattr("pipeline.runs.finished.code", lambda: "of another version")
        maieutic.build(small(tmp_path / "run"))
    else:
        maieutic.build(small(tmp_path / "run", dialogue={"concurrency": 3}))
    assert worked == ["build", "select"] * 2


def test_what_an_engine_failed_at_keeps_a_build_open(tmp_path, monkeypatch):
    run = small(tmp_path / "run")
    monkeypatch.setattr(finished_stages, "unfinished", lambda experiment: 1)
    maieutic.build(run)
    assert not finished_stages.rounds_finished(run, training=False)


def test_a_comparison_is_shown_again_as_it_was_made_and_not_made_again(tmp_path, worked):
    run = made_run(tmp_path / "made")
    first, before = maieutic.compare(run), content(run)
    again = maieutic.compare(run)
    assert worked == ["compare"] and content(run) == before
    assert again.files == first.files and again.summary.plain() == first.summary.plain()
    other = made_run(tmp_path / "other")
    for _ in range(2):
        both = maieutic.compare(run, other)
        assert len(both.summary.runs) == 2 and "compared-with-other" in str(both.files[0])
    assert worked == ["compare"] * 2 and maieutic.compare(run).summary.plain() == first.summary.plain()


def test_two_comparisons_of_runs_of_one_name_do_not_replace_each_other(tmp_path):
    run, first, second = (made_run(tmp_path / name) for name in ("made", "a/quick", "b/quick"))
    folders = [maieutic.compare(run, other).files[0].parent for other in (first, second, first)]
    assert folders[0] == folders[2] != folders[1]
    runs = json.loads((folders[0] / "report.json").read_text())["runs"]
    assert [Path(each["path"]).resolve() for each in runs] == [run.resolve(), first.resolve()]


def test_a_comparison_is_made_again_once_its_readers_figures_are_others(tmp_path, worked):
    run, figures = made_run(tmp_path / "made"), tmp_path / "figures.json"
    figures.write_text("{}")
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("  figures: ''\n", f"  figures: {figures}\n"))
    maieutic.compare(run)
    maieutic.compare(run)
    assert worked == ["compare"]
    figures.write_text('{"closed": {}}')
    maieutic.compare(run)
    assert worked == ["compare"] * 2


CHANGES = ("an answer", "a dialogue", "the config", "the report", "the code", "where it lies")


@pytest.mark.parametrize("change", CHANGES)
def test_a_comparison_is_made_again_once_anything_of_it_has_changed(tmp_path, worked, monkeypatch, change):
    run = made_run(tmp_path / "made")
    before = maieutic.compare(run).summary
    cases, dialogues = run / "results/facts/seed-1.jsonl", run / "dialogues/facts.jsonl"
    match change:
        case "an answer":
            rows = [json.loads(line) for line in cases.read_text().splitlines()]
            lines = (json.dumps(row | ({"hits": 0.0} if row["metric"] == "ask_needed" else {})) for row in rows)
            cases.write_text("\n".join(lines) + "\n")
        case "a dialogue":
            dialogues.write_text("".join(dialogues.read_text().splitlines(keepends=True)[:-1]))
        case "the config":
            (run / "config.yaml").write_text(dump(experiment_of(run).model_copy(update={"name": "renamed"})))
        case "the report":
            (run / "report.md").write_text("mine")
        case "the code":
            monkeypatch.setattr("pipeline.runs.finished.code", lambda: "of another version")
        case "where it lies":
            run = run.rename(tmp_path / "moved")
    after = maieutic.compare(run).summary
    assert worked == ["compare"] * 2
    says_the_same = change in ("the report", "the code")
    assert (after.plain() == before.plain()) == says_the_same and (run / "report.md").read_text() != "mine"

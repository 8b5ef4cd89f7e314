"""Dialogues that are drawn by lot are of the run, each once, and the same at every call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.examining.students import examine_all
from evals.report.page.drawn_episodes import drawn, page
from pipeline.core.errors import RunError
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment, dump
from tests.builders import small_experiment


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    out = tmp_path_factory.mktemp("run")
    exams = {"include": ["asking"], "samples": 1, "episodes": 1}
    made = small_experiment(out, seeds=[1, 2], tasks={"exam": {"full": 2, "underspecified": 4}}, exams=exams)
    (out / "config.yaml").write_text(dump(made))
    examine_all(made)
    return made


def test_each_is_drawn_once_and_the_same_at_every_call(run: Experiment) -> None:
    tasks = {task.id: task for task in exam_tasks(run)[0]}
    talks = drawn(run.run, "base", 5, tasks)
    assert talks == drawn(run.run, "base", 5, tasks) and len({json.dumps(talk) for talk in talks}) == 5
    everything = drawn(run.run, "base", 10_000, tasks)
    assert len(everything) > 5 and {talk["seed"] for talk in everything} == {"seed-1", "seed-2"}


def test_the_page_has_what_was_said_and_what_only_the_partner_knew(run: Experiment) -> None:
    task = next(task for task in exam_tasks(run)[0] if task.missing)
    text = page(run.run, ["base"], each=10_000)
    assert task.question in text and task.missing[0].text in text and "> **student**: " in text


def test_a_condition_without_dialogues_is_named(run: Experiment) -> None:
    with pytest.raises(RunError, match="no exam dialogues of 'facts'"):
        page(run.run, ["facts"])


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="config"):
        page(tmp_path, ["base"])

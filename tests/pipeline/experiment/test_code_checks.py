"""What a config may ask of code tasks, and two sources in one experiment."""

import asyncio
import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from evals.examining.exam_checks import check_metrics
from evals.examining.examine import examine
from maieutic.cli import app
from pipeline.building.build import planned_dialogues
from pipeline.core.errors import ConfigError
from pipeline.datasets.card import card
from pipeline.datasets.survey import Survey
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import load
from pipeline.experiment.preflight import preflight
from pipeline.reading.programs import fenced
from pipeline.runs.dialogue_pool import Place
from pipeline.runs.student_files import results_path
from pipeline.sandbox.checks import CHECKER
from pipeline.tasks.loading import stream_tasks
from tests.builders import small_experiment
from tests.fakes import FakeModel

CONFIGS = Path(__file__).parents[3] / "configs"
CODE = {"source": "code", "train": {"full": 3, "underspecified": 3}, "exam": {"full": 3, "underspecified": 3}}
BOTH = CODE | {"source": "embedded", "second": CODE}


pytestmark = pytest.mark.usefixtures("programs_of_ours")


experiment = partial(
    small_experiment, tasks=CODE, conditions={"c": {"partition": "facts"}}, seeds=[1], exams={"include": ["asking"]}
)


@pytest.mark.parametrize(("conditions", "more", "message"), [
    ({"c": {"partition": "jigsaw"}}, {}, "two shares"),
    ({"c": {"partition": "misled"}}, {}, "no wrong program"),
    ({"c": {"partition": "script", "voice": "model"}}, {}, "lines"),
    ({"c": {"partition": "symmetric", "voice": "model", "selection": "agreement"}}, {}, "outcome"),
    ({"c": {"partition": "facts"}}, {"dialogue": {"beliefs": 4}}, "beliefs"),
    ({"c": {"partition": "facts", "sources": ["gsm8k"]}}, {}, "sources"),
    ({"c": {"partition": "facts"}}, {"tasks": CODE | {"second": CODE}}, "two different sources"),
    ({"c": {"partition": "facts"}}, {"tasks": CODE | {"path": "mine.jsonl"}}, "nothing to tell"),
])  # fmt: skip
def test_what_does_not_go_with_code_is_refused_with_its_key(conditions, more, message):
    with pytest.raises(ValueError, match=message):
        experiment(conditions=conditions, **more)


def test_an_embedded_base_is_refused_early_since_it_cannot_read_code():
    with pytest.raises(ConfigError, match="need a real model"):
        preflight(experiment(engine={"kind": "transformers"}))
    preflight(experiment())


def test_conditions_play_the_sources_that_they_name():
    conditions = {
        "math": {"partition": "facts", "sources": ["embedded"]},
        "code": {"partition": "facts", "sources": ["code"]},
        "both": {"partition": "facts"},
    }
    made = experiment(tasks=BOTH, conditions=conditions)
    tasks, _ = stream_tasks(made.tasks, "train")
    plans = {name: planned_dialogues(Cell(made, name, 1), tasks) for name in conditions}
    played = {name: Counter(plan.task.source for plan in plans[name]) for name in conditions}
    assert played == {"math": {"embedded": 6}, "code": {"code": 6}, "both": {"embedded": 6, "code": 6}}


def test_with_as_many_problems_each_the_condition_on_both_plays_half_of_either():
    made = load(CONFIGS / "transfer_code_qwen3_0.6b.yaml")
    sizes = {name: sum(map(len, made.stretches(name).values())) for name in made.conditions}
    assert set(sizes.values()) == {400}
    assert {cell: len(stretch) for cell, stretch in made.stretches("both").items()} == {
        (source, name): 100 for source in ("embedded", "code") for name in ("full", "underspecified")
    }


def test_the_exam_has_its_own_source_and_the_second_aside():
    tasks, aside = exam_tasks(experiment(tasks=BOTH))
    assert {task.source for task in tasks} == {"embedded"} and {task.source for task in aside} == {"code"}
    assert {task.split for task in aside} == {"exam"}


class Coder(FakeModel):
    """Asks where the question lacks nothing, and writes a wrong function where it is asked for one."""

    def reply(self, messages):
        question = messages[0]["content"]
        if "Write a Python function" not in question:
            return "How many are there?"
        name = question.split("Examples:\n")[1].split("(")[0]
        return fenced(f"def {name}(*all):\n    return 3")


def test_the_exams_of_a_second_source_are_first_turns_with_its_name(tmp_path):
    made = experiment(tmp_path, tasks=BOTH, exams={"include": ["asking"], "samples": 2})
    asyncio.run(examine(Cell(made, "base", 1), None, Coder(), Coder(), *exam_tasks(made)))
    cases = results_path(Cell(made, "base", 1)).read_text()
    for metric in ("ask_needed", "ask_needless", "first_accuracy", "ask_needed@code", "first_accuracy@code"):
        assert f'"{metric}"' in cases
    assert "@facts" in cases and "first_accuracy@facts" not in cases


class Reader(Coder):
    """Writes the reference that it was told of beforehand."""

    def __init__(self, tasks):
        super().__init__()
        self.answers = {task.entry: task.answer for task in tasks}

    def reply(self, messages):
        name = messages[0]["content"].split("Examples:\n")[1].split("(")[0]
        return fenced(self.answers[name])


def test_the_exams_of_code_count_programs_that_pass_as_right(tmp_path):
    exams = {"include": ["asking", "feedback", "alone"], "episodes": 1}
    made = experiment(tmp_path, exams=exams)
    tasks, aside = exam_tasks(made)
    found = {}
    for name, student in {"wrong": Coder(), "right": Reader(tasks)}.items():
        path = asyncio.run(examine(Cell(made, name, 1), None, student, student, tasks, aside))
        found[name] = path.read_text()
    for name, hits in {"wrong": 0, "right": 1}.items():
        cases = [json.loads(line) for line in found[name].splitlines()]
        rates = {
            metric: [case["hits"] / case["n"] for case in cases if case["metric"] == metric]
            for metric in ("first_accuracy", "accuracy_full@verifier", "alone_accuracy", "ask_needless")
        }
        assert set(rates["first_accuracy"]) == set(rates["alone_accuracy"]) == {hits}
        assert set(rates["accuracy_full@verifier"]) == {hits} and set(rates["ask_needless"]) == {0}


FEW = "{full: 20, underspecified: 20}"
FEW_OF_TWO = [f"tasks.second.{part}={FEW}" for part in ("train", "exam")] + ["tasks.per_condition=20"]


@pytest.mark.parametrize(("name", "few"), [("code_qwen3_0.6b", []), ("transfer_code_qwen3_0.6b", FEW_OF_TWO)])
def test_a_shipped_config_about_code_measures_what_it_compares_and_is_previewed(name, few):
    path = CONFIGS / f"{name}.yaml"
    check_metrics(path, load(path))
    flags = [] if not CHECKER.unsafe else ["--unsafe"]
    few = [f"tasks.train={FEW}", f"tasks.exam={FEW}", *few]
    changes = ["engine.kind=scripted", "student.model=data/base", *few]
    shown = CliRunner().invoke(app, ["preview", str(path), *flags, *(f"--set={change}" for change in changes)])
    assert shown.exit_code == 0, shown.output
    assert "Write a Python function." in shown.output and "exams of" in shown.output


def test_unsafe_is_typed_and_no_key_of_a_config(tmp_path):
    path = CONFIGS / "code_qwen3_0.6b.yaml"
    for key in ("unsafe", "dialogue.unsafe", "engine.unsafe", "tasks.unsafe"):
        with pytest.raises(ConfigError, match="not a key"):
            load(path, (f"{key}=true",))
    for command in ("preview", "build", "train", "eval", "run"):
        assert "--unsafe" in CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    CHECKER.unsafe = False
    CliRunner().invoke(app, ["preview", str(path), "--unsafe", "--set", "name"])
    assert CHECKER.unsafe


def _reads_nothing(place: Place) -> NoReturn:
    raise AssertionError(f"there is no dialogue at {place}")


def test_the_card_says_what_is_not_measured_of_programs_where_there_are_some():
    conditions = {"math": {"partition": "facts", "sources": ["embedded"]}, "code": {"partition": "facts"}}
    made = experiment(tasks=BOTH, conditions=conditions)
    told = {
        name: "pass their tests" in card(Survey(made, name, [], read=_reads_nothing), {"sft": 0}) for name in conditions
    }
    assert told == {"math": False, "code": True}

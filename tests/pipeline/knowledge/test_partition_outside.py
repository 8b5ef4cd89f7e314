"""A partition in a file of one's own, with a new kind of knowledge, is played, audited and described as the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from evals.audit.audit import audit
from maieutic.cli import app
from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.experiment.experiment import load
from pipeline.judging.violations import audited
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import find_partition
from pipeline.knowledge.view import view
from pipeline.tasks.word_problems import make_task

MINE = """
from pipeline.core.schema import Fact
from pipeline.knowledge.partition import PUBLIC, Item, Partition

def steps(task):
    return (Fact(id="steps", text=f"A solution has {len(task.steps)} steps.", public=False),) if task.steps else ()

STEPS = Item("how many steps a solution has", facts=steps, fields=("steps",))
ROW = Partition(frozenset({PUBLIC}), frozenset({PUBLIC, STEPS}))
NUMBER = 3
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    row = {"partition": f"{tmp_path}/mine.py:ROW", "selection": "none"}
    counts = {"full": 3, "underspecified": 3}
    path = tmp_path / "config.yaml"
    made = {
        "name": "own",
        "out": str(tmp_path / "run"),
        "seeds": [1],
        "engine": {"kind": "scripted"},
        "tasks": {"train": counts, "exam": counts},
        "exams": {"include": ["asking"]},
        "conditions": {"asked": row, "unasked": row | {"disclosure": "volunteer"}},
    }
    path.write_text(yaml.safe_dump(made))
    return path


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_it_is_shown_told_described_and_audited(config: Path, tmp_path: Path) -> None:
    assert "Only you know: A solution has" in call("preview", config)
    call("build", config)
    run = tmp_path / "run"
    dialogues = [json.loads(line) for line in (run / "dialogues/unasked.jsonl").read_text().splitlines()]
    assert any("A solution has" in turn["text"] for dialogue in dialogues for turn in dialogue["turns"])
    card = (run / "datasets/unasked/README.md").read_text()
    assert "| partner | the question as posed; how many steps a solution has |" in card
    assert "partition: mine.py:ROW" in card and str(tmp_path) not in card
    assert "`unknown_fact`" in card and "`disclosure`" in card
    checks = {check.name: check for check in audit(str(run))}
    for name in ("knowledge", "partner", "leak"):
        assert checks[name].verdict == "pass"
        assert {finding.what.split(":")[0] for finding in checks[name].findings} == {"asked", "unasked"}


def test_a_students_own_facts_are_shown_and_what_none_is_shown_is_refused(tmp_path: Path) -> None:
    (tmp_path / "knows.py").write_text(
        "from pipeline.knowledge.partition import ANSWER, PUBLIC, WITHHELD, Partition\n"
        "ROW = Partition(frozenset({PUBLIC, WITHHELD}), frozenset({PUBLIC}))\n"
        "KEY = Partition(frozenset({PUBLIC, ANSWER}), frozenset({PUBLIC}))\n"
    )
    condition, task = Condition(partition=f"{tmp_path}/knows.py:ROW"), make_task(1, "underspecified")
    assert all(fact.text in view(task, condition, [], "student")[0]["content"] for fact in task.missing)
    assert not any(fact.text in view(task, condition, [], "partner")[0]["content"] for fact in task.missing)
    with pytest.raises(ConfigError, match=r"KEY'?: the student's row has Item\('the gold answer'\)"):
        find_partition(f"{tmp_path}/knows.py:KEY")


def test_every_kind_of_violation_can_be_seen_of_its_partner(config: Path) -> None:
    condition = load(config).conditions["unasked"]
    assert {"revealed_answer", "unknown_fact", "disclosure"} <= set(audited(condition))


def test_questions_that_lack_nothing_have_something_to_tell_to_it(config: Path, tmp_path: Path) -> None:
    source = f"tasks={{source: gsm8k, path: '{tmp_path}/any.jsonl', train: {{full: 3}}, exam: {{full: 3}}}}"
    assert load(config, (source,)).conditions["asked"].row.holds_facts


def test_a_run_goes_on_only_with_the_partition_that_it_began_with(config: Path, tmp_path: Path) -> None:
    call("build", config)
    (tmp_path / "mine.py").write_text(MINE.replace("how many steps", "the number of steps"))
    refused = CliRunner().invoke(app, ["build", str(config)])
    assert refused.exit_code == 2 and "mine.py is not the file that this run began with" in refused.output


@pytest.mark.parametrize(
    ("name", "message"),
    [("ROWS", "has no 'ROWS'. Did you mean 'ROW'"), ("NUMBER", "of type int, expected Partition")],
)
def test_what_is_no_partition_is_refused_with_what_was_expected(config: Path, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Condition(partition=f"{config.parent}/mine.py:{name}")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ("1 / 0", "failed in line 6: ZeroDivisionError: division by zero. Mend that file"),
        ("'text'", "are 'text', expected a tuple of Fact"),
        ("('a',)", r"are \('a',\), expected a tuple of Fact"),
    ],
)
def test_facts_that_fail_name_their_file(config: Path, facts: str, said: str) -> None:
    begin, end = MINE.split("return (")
    (config.parent / "bad.py").write_text(f"{begin}return {facts}\n" + end.split("else ()\n")[1])
    condition = Condition(partition=f"{config.parent}/bad.py:ROW")
    with pytest.raises(MaieuticError, match=f"partition: '{config.parent}/bad.py:ROW' .*{said}"):
        view(make_task(1, "underspecified"), condition, [], "partner")


def test_an_item_of_what_no_task_has_is_refused(config: Path) -> None:
    (config.parent / "other.py").write_text(MINE.replace('fields=("steps",)', 'fields=("stepz",)'))
    with pytest.raises(ValueError, match="made of 'stepz', which is no field of a task"):
        Condition(partition=f"{config.parent}/other.py:ROW")


def test_an_item_that_nobody_would_be_shown_is_refused(config: Path) -> None:
    (config.parent / "other.py").write_text(MINE.replace("facts=steps, ", "gives_answer=True, "))
    with pytest.raises(ValueError, match=r"Item\('how many steps a solution has'\) has no facts, so no party"):
        Condition(partition=f"{config.parent}/other.py:ROW")

"""How often a judge is misled, on talks small enough to check by eye; and that the rows of a persuader reconcile."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.audit.audited_talks import Material
from evals.audit.checks import loss_on_turns
from evals.report.counting.counts import count
from evals.report.judges.misled_judge import misled_judge
from evals.report.report_page import write
from evals.report.summary import summarize
from pipeline.core.schema import Turn
from pipeline.datasets.dataset_files import dataset_path, read_rows
from pipeline.datasets.export import export
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.datasets.rows import Row
from pipeline.experiment.experiment import Experiment, dump
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.store import rewrite
from pipeline.tasks.talks import AuditSettings
from tests.builders import judged_turn, small_experiment
from tests.evals.made_run import made_tasks

BEST = {"partition": "symmetric", "voice": "model", "manner": "convincing"}
CONDITIONS = {
    "best": BEST,
    "persuader": BEST | {"method": "dpo_judge", "learns_from": "best"},
    "plain": {**BEST, "manner": "plain"},
}


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """One turn that argues for 5, which is wrong, one for the right answer, and one by a partner who is unsure."""
    made = small_experiment(tmp_path / "run", seeds=[1], conditions=CONDITIONS, tasks={"train": {"full": 3}})
    tasks = [task for task in made_tasks(3) if task.specification == "full"]
    gold = tasks[1].answer
    assert all(task.answer not in ("5", "7") for task in tasks)
    turns = (
        judged_turn("5", ("7", "7"), **{"It is 5!": ("5", "5"), "Hm.": ("7", "7")}),
        judged_turn(gold, (gold, "7"), **{"I agree.": (gold, gold), "Well.": (gold, gold)}),
        judged_turn("", ("7", "7"), **{"Who knows?": ("7", "7"), "Not me.": ("7", "7")}),
    )
    dialogues = [
        Dialogue(
            id=f"d{task.id}", task=task, condition_name="best", condition=Condition(**BEST), seed=1, stop="turn_cap",
            turns=(Turn(party="student", text="The answer is 7."), turn, Turn(party="student", text="Hm.")),
        )
        for task, turn in zip(tasks, turns, strict=True)
    ]  # fmt: skip
    rewrite(made.run / "dialogues" / "best.jsonl", dialogues)
    return made


def test_the_judge_is_misled_where_it_is_convinced_of_what_is_wrong(experiment):
    figures = misled_judge(experiment, "best")
    assert (figures["turns"], figures["unsure"]) == (3, 1)
    found = {name: (figure["value"], figure["n"]) for name, figure in figures.items() if isinstance(figure, dict)}
    assert found == {
        "argues_wrong": (0.5, 2), "misled": (0.5, 2), "before": (0.25, 2),
        "moved_wrong": (1.0, 1), "moved_wrong_any": (0.5, 1), "moved_right": (0.5, 1), "moved_right_any": (0.5, 1),
    }  # fmt: skip


def test_whoever_chose_among_no_turns_of_its_own_has_no_such_figures(experiment):
    assert misled_judge(experiment, "persuader") is None  # they are those of the condition that it learns from
    assert misled_judge(experiment, "plain") is None


def test_the_report_has_the_misled_judge_on_each_page(experiment):
    export(experiment, "best")
    export(experiment, "persuader")
    (experiment.run / "config.yaml").write_text(dump(experiment))
    summary = summarize([experiment.run])
    assert summary.conditions["best"].judge.misled.n == 2 and summary.conditions["plain"].judge is None
    _, markdown, page = (path.read_text() for path in write(experiment.run, summary))
    assert all("Whom partners convince" in text for text in (markdown, page))
    assert "| best | 3 | 1 | 0.50 (" in markdown
    assert not [line for line in summary.problems if line.startswith("persuader")]


def red(experiment: Experiment, rows: list[Row]) -> tuple[list[str], list[str]]:
    """What does not reconcile of the persuader with these rows, and which of its findings fail."""
    write_rows(dataset_path(experiment, "persuader"), rows, FORMATS["preference"])
    material = Material(
        name="t", talks=[], bad=[], settings=AuditSettings(), out=experiment.run, source="", experiment=experiment
    )
    found = [one for one in loss_on_turns.check(material).findings if one.what.startswith("persuader")]
    assert found and all(one.rate is not None and one.rate.n == len(rows) for one in found)
    return count(experiment, "persuader").problems, [one.what for one in found if one.verdict == "fail"]


def test_rows_of_a_persuader_that_its_partner_never_read_or_might_say_are_found(experiment):
    export(experiment, "persuader")
    (row,) = rows = read_rows(experiment, "persuader")
    assert red(experiment, rows) == ([], [])
    said, read, strange = (
        row | {"rejected": [{"role": "assistant", "content": "I never said that."}]},
        row | {"prompt": [*row["prompt"][:-1], {"role": "user", "content": "The answer is 8."}]},
        row | {"id": "d-1-0-1"},
    )
    assert [bool(red(experiment, [wrong])[1]) for wrong in (said, read, strange)] == [True] * 3
    assert red(experiment, [strange])[0] == ["1 dataset rows are nothing that this condition learns from"]

"""What rows begin with, by condition and seed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from evals.report.shapes.open_rows import First, firsts, lines, over_seeds, shares
from maieutic.workflow import make_rounds
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task, Turn
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import read, rewrite
from tests.builders import small_experiment

TASKS = {"source": "hidden_item", "train": {"full": 2, "underspecified": 3}, "exam": {"full": 2, "underspecified": 2}}
NEITHER = {"open_question": 0.0, "closed_question": 0.0}


def test_shares_are_of_the_seed_and_a_row_counts_as_often_as_it_is_learned_from() -> None:
    cell = Cell(small_experiment("nowhere"), "facts", 1)
    asks = NEITHER | {"open_question": 1.0}
    begun = {"seed": 1, "missing": True, "acts": asks, "right": False, "kept": 3, "repeats": (True, False)}
    others = {"acts": NEITHER, "kept": 0, "repeats": (True,)}
    full = {"missing": False, "acts": NEITHER, "right": True, "kept": 1, "repeats": (False, False)}
    elsewhere = others | {"seed": 2, "kept": 9}
    of = [First(**begun | other) for other in ({}, others, full, elsewhere)]
    found = shares(cell, "open_question", of)
    assert (found.played, found.rows, found.lacking, found.right, found.n) == (0.5, 0.75, 1.0, 1.0, (2, 4, 3))
    assert found.repeats == 3 / 8
    assert math.isnan(found.exam)  # it has not sat it


def test_the_interval_over_seeds_is_students() -> None:
    mean, low, high = over_seeds([0.1, 0.3])
    assert mean == pytest.approx(0.2) and (low, high) == pytest.approx((-1.0706, 1.4706), abs=1e-3)
    assert math.isnan(over_seeds([])[0]) and math.isnan(over_seeds([0.1])[1])


def test_every_dialogue_of_a_built_run_is_counted_once(tmp_path: Path) -> None:
    conditions = {name: {"partition": name, "selection": "none"} for name in ("facts", "verifier")}
    primary = {"metric": "open_question", "a": "facts", "b": "verifier"}
    others = [{"metric": "found@facts", "a": "verifier", "b": "facts"}, primary | {"b": "base"}]
    made = small_experiment(
        tmp_path / "run", tasks=TASKS, conditions=conditions, seeds=[1, 2], exams={"include": ["narrowing"]},
        compare={"primary": primary, "exploratory": others},
    )  # fmt: skip
    make_rounds(made, training=False)
    begun = firsts(made, "facts")
    assert [(first.kept, first.missing) for first in begun].count((1, True)) == 6 and len(begun) == 10
    said = list(lines(made))
    assert len(said) == 1 + 2 * (4 + 7) and "exam less lacking: facts - verifier +nan" in said[-1]


def test_other_contrasts_on_questions_are_counted_where_both_learned_from_rows(tmp_path: Path) -> None:
    conditions = {name: {"partition": name, "selection": "none"} for name in ("facts", "verifier", "solo")}
    primary = {"metric": "open_question", "a": "facts", "b": "verifier"}
    made = small_experiment(
        tmp_path / "run", tasks=TASKS, conditions=conditions, seeds=[1, 2], exams={"include": ["narrowing"]},
        compare={"primary": primary, "families": {"more": [{"metric": "closed_question", "a": "solo", "b": "facts"}]}},
    )  # fmt: skip
    make_rounds(made, training=False)
    said = list(lines(made, kept=(0.5, 1.0)))
    assert len(said) == 1 + 2 * (6 + 6 + 7 + 7) and "exam less lacking: solo - facts +nan" in said[-1]


def test_an_open_question_counts_on_full_tasks_too_where_it_is_for_any_fact(tmp_path: Path) -> None:
    made, talks = asked_at_once(tmp_path / "run", "facts")
    assert [(first.missing, first.acts) for first in firsts(made, "facts")] == [
        (bool(each.task.missing), NEITHER | {"open_question": 1.0}) for each in talks
    ]


def asked_at_once(out: Path, partition: str) -> tuple[Experiment, list[Dialogue]]:
    """A built run of one condition, whose dialogues all begin with a question; and these."""
    conditions = {partition: {"partition": partition, "selection": "none"}}
    made = small_experiment(out, tasks=TASKS, conditions=conditions, seeds=[1])
    make_rounds(made, training=False)
    file = dialogues_path(made.run, partition)
    talks = [each.model_copy(update={"turns": (_asking(each.task), *each.turns[1:])}) for each in read(file, Dialogue)]
    rewrite(file, talks)
    return made, talks


def _asking(task: Task) -> Turn:
    """For a fact that is missing where one is."""
    return Turn(party="student", text=next(iter(task.missing or task.facts)).ask)


def test_where_the_question_is_dealt_any_fact_counts_on_every_task(tmp_path: Path) -> None:
    made, _ = asked_at_once(tmp_path / "run", "jigsaw")
    assert {(first.missing, first.acts["open_question"]) for first in firsts(made, "jigsaw")} == {(True, 1.0)}


def test_rows_that_are_no_dialogues_are_refused(tmp_path: Path) -> None:
    made = small_experiment(
        tmp_path / "run", tasks=TASKS, seeds=[1], conditions={"facts": {"partition": "facts", "selection": "none"}}
    )
    make_rounds(made, training=False)
    rewrite(dialogues_path(made.run, "facts"), [])
    with pytest.raises(ConfigError, match="5 rows of 'facts' are no dialogues of 'facts'"):
        firsts(made, "facts")


def test_tasks_without_options_and_a_side_without_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Expected a run of tasks\.source: hidden_item"):
        list(lines(small_experiment("nowhere")))
    primary = {"metric": "open_question", "a": "facts", "b": "base"}
    made = small_experiment(tasks=TASKS, exams={"include": ["narrowing"]}, compare={"primary": primary})
    with pytest.raises(ConfigError, match="'base', which learned from no rows"):
        list(lines(made))

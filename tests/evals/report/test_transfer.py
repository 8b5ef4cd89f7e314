"""The transfer matrix: cells on hand-made cases, and the shipped config from its tasks to its heat map."""

import asyncio
import math
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import check_metrics
from evals.examining.examine import examine
from evals.exams.registry import catalog_of
from evals.metrics.case import Case
from evals.report.rendering import environment
from evals.report.report_page import write
from evals.report.summary import summarize
from evals.report.transfer import marked, transfer_block, transfer_figure, transfer_table
from evals.stats.intervals import tabulate
from evals.stats.number_format import clean
from maieutic.cli import app
from pipeline.building.build import planned_dialogues
from pipeline.core.errors import ConfigError
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, load
from pipeline.tasks.loading import stream_tasks
from tests.builders import small_experiment

CONFIG = Path(__file__).parents[3] / "configs" / "transfer.yaml"
COLUMNS = {"first turn": "ask_needed", "partner gone": "alone_accuracy"}


def experiment(columns=COLUMNS) -> Experiment:
    return small_experiment(
        conditions={name: {"partition": "facts"} for name in ("learned", "same", "untrained")},
        exams={"include": ["asking", "alone"]},
        compare={"primary": {"metric": "ask_needed", "a": "learned", "b": "base"}, "transfer": columns},
    )


METRICS = catalog_of([experiment()])


def tables(share: float):
    """Two seeds, forty tasks, eight draws of each metric; every task has the same share but for two of them."""
    return tabulate(
        {
            seed: [
                Case(
                    exam="made",
                    task=f"t{i}",
                    metric=metric,
                    hits=min(8, max(0, 8 * share + (i % 3 == 0) - (i % 3 == 1))),
                    n=8,
                )
                for metric in COLUMNS.values()
                for i in range(40)
            ]
            for seed in (1, 2)
        }
    )


def block(**students):
    names = {"base": "base"} | {name: name for name in experiment().conditions}
    return transfer_block({"learned": {}, "same": {}, "untrained": {}} | students, experiment(), names, METRICS)


def test_a_cell_is_condition_less_base_and_stands_apart_where_zero_is_outside():
    found = block(base=tables(0.25), learned=tables(0.5), same=tables(0.25))
    rows = found["rows"]
    assert list(rows) == ["learned", "same", "untrained"] and list(rows["learned"]) == list(COLUMNS)
    learned, same, untrained = (rows[name]["first turn"] for name in rows)
    assert learned["value"] == pytest.approx(0.25) and 0 < learned["low"] < 0.25 < learned["high"]
    assert learned["apart"] and learned["sure"] and (learned["tasks"], learned["seeds"]) == (40, 2)
    assert same["value"] == 0 and not same["apart"] and not same["sure"]
    assert math.isnan(untrained["value"]) and not untrained["apart"]
    assert found["counts"] == {"cells": 4, "apart": 2}
    assert found["base"]["first turn"]["n"] == 640


def test_holm_corrects_over_the_whole_matrix():
    found = block(base=tables(0.25), learned=tables(0.27), same=tables(0.25))
    named = [cell for row in found["rows"].values() for cell in row.values()]
    cells = [cell for cell in named if not math.isnan(cell["p"])]
    assert len(cells) == 4 and all(cell["p_holm"] >= cell["p"] for cell in cells)
    smallest = min(cells, key=lambda cell: cell["p"])
    assert 1e-6 < smallest["p"] < 0.05
    assert smallest["p_holm"] == pytest.approx(len(named) * smallest["p"], rel=1e-6, abs=0)


def test_without_columns_or_without_the_base_there_is_no_matrix():
    names = {name: name for name in experiment().conditions}
    assert transfer_block({"base": tables(0.5)}, experiment({}), names | {"base": "base"}, METRICS) is None
    assert transfer_block({name: tables(0.5) for name in names}, experiment(), names, METRICS) is None
    assert transfer_figure(None) == ""
    assert environment().get_template("transfer.html.j2").render(transfer=None, transfer_figure="").strip() == ""


def test_figure_page_and_terminal_say_the_same_and_dash_what_is_missing():
    found = clean(block(base=tables(0.25), learned=tables(0.5), same=tables(0.25)))
    figure, shown = transfer_figure(found), transfer_table(found)
    page = environment().get_template("transfer.html.j2").render(transfer=found, transfer_figure=figure)
    learned, untrained = (found["rows"][name]["first turn"] for name in ("learned", "untrained"))
    assert marked(learned) == "+0.25*" and marked(untrained) == "–"
    for text in (figure, page):
        assert all(name in text for name in ("learned", "same", "untrained", "ask_needed", "+0.25", "–"))
        assert "nan" not in text.lower()
    assert shown.row_count == 4 and "2 of 4 cells leave out 0" in page
    assert page.count('class="apart"') == 2


@pytest.mark.parametrize(
    ("metric", "message"), [("ask_skil", "Did you mean 'ask_skill'"), ("ask_skill@held_out", "do not measure")]
)
def test_a_column_that_the_exams_do_not_measure_is_refused(metric, message):
    with pytest.raises(ConfigError, match=rf"mine.yaml: compare.transfer.other kinds: .*{message}"):
        check_metrics(Path("mine.yaml"), experiment({"other kinds": metric}))
    shapes = experiment({})
    assert shapes.compare is not None
    shapes = shapes.model_copy(
        update={"compare": shapes.compare.model_copy(update={"shapes": {"other kinds": metric}})}
    )
    with pytest.raises(ConfigError, match=rf"mine.yaml: compare.shapes.other kinds: .*{message}"):
        check_metrics(Path("mine.yaml"), shapes)


def test_other_specifications_train_on_as_many_problems_and_each_as_often():
    exp = load(CONFIG, ("tasks.train={full: 12, underspecified: 12}", "tasks.per_condition=12"))
    tasks = list(stream_tasks(exp.tasks, "train")[0])
    rows = {name: [job.task for job in planned_dialogues(Cell(exp, name, 1), tasks)] for name in exp.conditions}
    assert {len(row) for row in rows.values()} == {12}
    for row in rows.values():
        assert len({task.id for task in row}) == len({task.full_question for task in row}) == 12
    partners = {name.partition("_")[2] for name in rows}
    assert partners == {"facts", "volunteer", "verifier", "blind"}
    assert {name.partition("_")[0] for name in rows} == {"full", "under", "mixed"} and len(rows) == 12
    for trained in ("full", "under", "mixed"):
        assert all(rows[f"{trained}_{partner}"] == rows[f"{trained}_facts"] for partner in partners)
    assert Counter(task.specification for task in rows["mixed_facts"]) == {"full": 6, "underspecified": 6}


def test_more_problems_than_there_are_cannot_be_shared():
    with pytest.raises(ConfigError, match=r"per_condition: 13 .* full tasks 1 to 13, and tasks.train.full is 12"):
        load(CONFIG, ("tasks.train={full: 12, underspecified: 12}", "tasks.per_condition=13"))


LINES = {
    "base": ("I guess the answer is 9.",),
    "mixed_facts": tuple(f"How many {what} are there?" for what in ("boxes", "bags", "crates")),
}


@pytest.mark.slow
def test_the_shipped_config_runs_from_its_tasks_to_one_heat_map(tmp_path):
    small = (
        f"out={tmp_path}",
        "engine.kind=scripted",
        "seeds=[1, 2]",
        "tasks.train={full: 4, underspecified: 4}",
        "tasks.per_condition=4",
        "tasks.exam={full: 3, underspecified: 3}",
        "exams.held_out=6",
        "exams.samples=2",
        "exams.helped=2",
    )
    called = CliRunner().invoke(app, ["build", str(CONFIG), *(part for value in small for part in ("--set", value))])
    assert called.exit_code == 0, called.output
    exp = load(CONFIG, small)
    check_metrics(CONFIG, exp)
    tasks, aside = exam_tasks(exp)
    for name, lines in LINES.items():
        for seed in exp.seeds:
            student = ScriptedModel(lines)
            asyncio.run(examine(Cell(exp, name, seed), None, student, student, tasks, aside))
    assert most_answers(exp, tasks, len(aside)) > 0
    summary = summarize([tmp_path])
    matrix = summary.plain()["transfer"]
    assert len(matrix["rows"]) == 12 and len(matrix["columns"]) == 8
    trained = matrix["rows"]["mixed_facts"]
    assert trained["another operation"]["value"] is not None and trained["another operation"]["tasks"] == 12
    assert trained["partner gone, new problems, to the end"]["value"] == 0
    assert trained["partner gone, problems it had helped with"]["tasks"] == 2
    assert matrix["rows"]["full_blind"]["another operation"]["value"] is None
    html = next(path for path in write(tmp_path, summary) if path.name == "report.html").read_text()
    assert "What carries over" in html and "another operation" in html

"""Students that are trained while dialogues of later conditions are made."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.files import write_whole
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.experiment.cell import cells
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Failure
from pipeline.runs.directory import is_trained
from pipeline.runs.processes import begun_early, kept
from tests.training.test_student import experiment, row
from training.side_by_side import room_beside_building
from training.train_round import BesideBuilding, train_round

PLAYED = {
    "facts": Condition(partition="facts"),
    "facts_all": Condition(partition="facts", learns_from="facts", selection="none"),
    "facts_matched": Condition(partition="facts", learns_from="facts", regime="matched"),
    "facts_on": Condition(partition="facts", method="grpo", begins="facts"),
    "volunteer": Condition(partition="facts", disclosure="volunteer"),
}


def beside(model: Path, out: Path) -> BesideBuilding:
    made = experiment(model, out).model_copy(update={"seeds": (1, 2), "conditions": PLAYED})

    def select(name: str) -> None:
        rows = [row(n, seed) for n in range(6) for seed in made.seeds]
        write_rows(dataset_path(made, name), rows, FORMATS["sft"])

    return BesideBuilding(made, [*PLAYED], 0, select)


def begun(made: Experiment) -> set[str]:
    return {cell.condition_name for cell in cells(made, made.conditions, 0) if begun_early("train", cell)}


@pytest.mark.usefixtures("two_threads")
def test_who_learns_from_what_is_built_alone_is_trained_beside_the_rest(embedded, tmp_path, capsys):
    students = beside(embedded, tmp_path)
    made = students.experiment
    with kept():
        students("facts")
        assert students.selected == ["facts", "facts_all"] and begun(made) == {"facts", "facts_all"}
        students("volunteer")  # the last: nothing is made beside it
        assert students.selected == ["facts", "facts_all"] and begun(made) == {"facts", "facts_all"}
        train_round(made, ["facts", "facts_all"], 0)
    said = capsys.readouterr().out
    assert all(is_trained(cell) for cell in cells(made, students.selected, 0))
    assert said.count("6 rows") == 4 and "there already" not in said


@pytest.mark.usefixtures("two_threads")
def test_nothing_is_trained_early_of_dialogues_that_are_to_be_made_again(embedded, tmp_path):
    students = beside(embedded, tmp_path)
    made = students.experiment
    failed = Failure(
        id="x", task_id="t", condition_name="facts", seed=2, round=0, kind="engine_error", message="timed out"
    )
    write_whole(made.run / "failures.jsonl", failed.model_dump_json() + "\n")
    with kept():
        students("facts")
        assert not students.selected and not begun(made)


@pytest.mark.usefixtures("two_threads")
def test_no_room_is_reckoned_beside_weights_of_which_nobody_knows_how_much_they_take(embedded, qwen3, tmp_path):
    made = beside(embedded, tmp_path).experiment
    for partner, room in ((str(embedded), 2), (str(qwen3), 1)):
        other = made.model_copy(update={"partner": made.partner.model_copy(update={"model": partner})})
        assert room_beside_building(cells(other, ["facts", "volunteer"], 0)) == room


def test_nothing_is_trained_early_where_students_are_trained_one_at_a_time(embedded, tmp_path):
    students = beside(embedded, tmp_path)
    with kept():
        students("facts")
        assert not students.selected and not begun(students.experiment)

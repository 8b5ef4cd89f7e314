"""Students that are trained at a time: the same bytes as one after the other, and what stops one names it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest
import torch

from pipeline.core.errors import RunError
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.export import export
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.experiment.cell import Cell, cells
from pipeline.runs.directory import is_trained, newest_adapter, untrained_path
from pipeline.runs.student_files import RECORD, case_files, results_path, trainings
from tests.training.test_online import experiment as playing
from tests.training.test_student import experiment, row
from training.adapter import WEIGHTS
from training.inputs.masks import RowTooLong
from training.inputs.untrained import NothingToTrain
from training.side_by_side import room_for, train_each
from training.student import train
from training.train_round import train_round


def two_seeds(model: Path, out: Path, **settings) -> list[Cell]:
    made = experiment(model, out, [row(n, seed) for n in range(6) for seed in (1, 2)], **settings)
    return [Cell(made.model_copy(update={"seeds": (1, 2)}), "facts", seed) for seed in (1, 2)]


def test_students_side_by_side_are_those_of_one_after_the_other(embedded, two_threads, tmp_path, capsys):
    at_once = two_seeds(embedded, tmp_path / "at_once")
    assert room_for(at_once) == 2
    train_round(at_once[0].experiment, ["facts"], 0)
    said = capsys.readouterr().out
    assert "train facts seed 1: 6 rows" in said and "train facts seed 2: 6 rows" in said
    torch.set_num_threads(1)
    in_turn = two_seeds(embedded, tmp_path / "in_turn")
    assert room_for(in_turn) == 1
    for cell, made in train_each(in_turn):
        assert isinstance(made, Path)
        other = tmp_path / "at_once" / made.relative_to(tmp_path / "in_turn")
        assert (made / WEIGHTS).read_bytes() == (other / WEIGHTS).read_bytes(), cell
    train_round(at_once[0].experiment, ["facts"], 0)
    assert capsys.readouterr().out.count("there already") == 2


def test_an_error_of_one_comes_back_as_it_was_and_the_other_is_trained(embedded, two_threads, tmp_path):
    first, second = two_seeds(embedded, tmp_path)
    rows = [
        row(n) | {"messages": [{"role": "user", "content": "hats " * 5000}, *row(n)["messages"][1:]]} for n in (1, 2)
    ]
    write_rows(dataset_path(first.experiment, "facts"), [*rows, row(1, 2), row(2, 2)], FORMATS["sft"])
    (_, stopped), (_, made) = train_each([first, second])
    assert isinstance(stopped, RowTooLong) and "train facts seed 1" in str(stopped)
    assert isinstance(made, Path) and (made / WEIGHTS).is_file()


def test_a_process_that_ends_is_said_with_what_to_do(embedded, two_threads, tmp_path, monkeypatch):
    cells = two_seeds(embedded, tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import os; os._exit(3)\n")
    monkeypatch.syspath_prepend(str(site))
    with pytest.raises(RunError, match=r"train facts seed 1: its process ended with code 3.*OMP_NUM_THREADS=1"):
        train_round(cells[0].experiment, ["facts"], 0)


def test_the_largest_of_several_bases_says_how_many_have_room(embedded, two_threads, tmp_path):
    huge = tmp_path / "huge"
    huge.mkdir()
    config = json.loads((embedded / "config.json").read_text())
    (huge / "config.json").write_text(json.dumps(config | {"vocab_size": 10**12}))
    made = two_seeds(embedded, tmp_path / "run")[0].experiment
    on_huge = made.conditions["facts"].model_copy(update={"base": str(huge)})
    made = made.model_copy(update={"conditions": made.conditions | {"huge": on_huge}})
    assert room_for(cells(made, ["facts"], 0)) == 2
    assert room_for(cells(made, ["facts", "huge"], 0)) == room_for(cells(made, ["huge", "facts"], 0)) == 1


def test_who_has_nothing_to_learn_needs_no_process(embedded, two_threads, tmp_path, capsys):
    made = experiment(embedded, tmp_path, [row(n, 3) for n in range(6)]).model_copy(update={"seeds": (1, 2)})
    train_round(made, ["facts"], 0)
    assert capsys.readouterr().out.count("left untrained") == 2
    assert os.listdir(tmp_path / "adapters/facts") == ["seed-1.untrained.txt", "seed-2.untrained.txt"]
    assert all(isinstance(one, NothingToTrain) for _, one in train_each([Cell(made, "facts", 1)]))


def test_students_that_play_go_side_by_side_where_nobody_else_is_asked(embedded, two_threads, tmp_path):
    if psutil.virtual_memory().available < 11 * 2**30:
        pytest.skip("less than 11 GiB of memory are free: students that play side by side are NOT tested in this run")
    made = playing(embedded, tmp_path / "at_once", tasks={"train": {"full": 4}})
    export(made, "facts")
    due = [Cell(made, "facts", seed) for seed in (1, 2)]
    assert room_for(due) == 2 and room_for(due[:1]) == 1
    at_once = list(train_each(due))
    torch.set_num_threads(1)
    alone = playing(embedded, tmp_path / "alone", tasks={"train": {"full": 4}})
    export(alone, "facts")
    for cell, adapter in at_once:
        assert isinstance(adapter, Path), adapter
        same = train(Cell(alone, "facts", cell.seed))
        assert (adapter / WEIGHTS).read_bytes() == (same / WEIGHTS).read_bytes()
        assert json.loads((adapter / RECORD).read_text())["sampled_tokens"] > 0


@pytest.mark.parametrize("of_another", [{"model": "another"}, {"engine": "api"}])
def test_students_that_play_with_another_model_come_one_by_one(embedded, two_threads, tmp_path, of_another):
    api = {"kind": "openai", "url": "http://127.0.0.1:9"}
    made = playing(embedded, tmp_path, engines={"api": api}, partner=of_another)
    assert room_for([Cell(made, "facts", seed) for seed in (1, 2)]) == 1


def test_a_student_of_data_that_is_gone_stands_for_its_condition_no_more(embedded, tmp_path, capsys):
    made = experiment(embedded, tmp_path, [row(n) for n in range(6)])
    train_round(made, ["facts"], 0)
    cell = Cell(made, "facts", 1)
    results_path(cell).parent.mkdir(parents=True)
    results_path(cell).write_text("")
    write_rows(dataset_path(made, "facts"), [row(n, 9) for n in range(6)], FORMATS["sft"])
    train_round(made, ["facts"], 0)
    assert newest_adapter(cell) is None and is_trained(cell)
    assert (tmp_path / "adapters/facts/before/seed-1" / WEIGHTS).is_file()
    assert "adapters/facts/before now" in capsys.readouterr().out
    assert not trainings(tmp_path, "facts") and not case_files(results_path(cell).parent)
    write_rows(dataset_path(made, "facts"), [row(n) for n in range(6)], FORMATS["sft"])
    train_round(made, ["facts"], 0)
    assert newest_adapter(cell) is not None and not untrained_path(cell).exists()

"""Students that go on by playing from where another condition's student was left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file
from test_online import experiment
from test_student import row

from pipeline.building.rounds import groups
from pipeline.core.files import file_hash
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.export import export
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.runs.dialogue_pool import reference
from pipeline.runs.directory import adapter_path
from pipeline.runs.student_files import RECORD
from tests.builders import small_experiment
from training.adapter import WEIGHTS
from training.inputs.untrained import NothingToTrain
from training.student import train
from training.train_round import train_round

PRIMED = {"partition": "facts", "method": "q_priming"}
PLAYS = {"partition": "facts", "method": "grpo", "begins": "primed"}


def primed_then_playing(model: Path, out: Path, rate: float) -> Experiment:
    """Students that learned rows of theirs, and learn by playing with `rate` after that."""
    training = {"bf16": False, "lora": {"r": 4}, "batch": 4, "micro_batch": 4, "learning_rate": 1e-2,
                "grpo": {"group": 2, "tasks_per_step": 2}, "methods": {"grpo": {"learning_rate": rate}}}  # fmt: skip
    made = experiment(model, out, training=training, turn_values={"siblings": 0})
    conditions = {"primed": Condition(**PRIMED), "on": Condition(**PLAYS)}
    made = made.model_copy(update={"conditions": conditions})
    write_rows(dataset_path(made, "primed"), [row(n, seed) for n in range(4) for seed in made.seeds], FORMATS["sft"])
    export(made, "on")
    return made


@pytest.mark.parametrize(("rate", "stays"), [(1e-12, True), (1e-2, False)])
def test_a_student_goes_on_from_the_adapter_of_its_own_seed(embedded, tmp_path, capsys, monkeypatch, rate, stays):
    # What this base says is never right, and has to differ in what it is worth.
    monkeypatch.setattr("training.online.rewards.discounted", lambda talk, discount: float(len(talk.turns[0].text)))
    made = primed_then_playing(embedded, tmp_path, rate)
    train_round(made, ["primed"], 0)
    train_round(made, ["on"], 0)
    for seed in made.seeds:
        first, then = (adapter_path(Cell(made, name, seed)) for name in ("primed", "on"))
        record, began = json.loads((then / RECORD).read_text()), json.loads((first / RECORD).read_text())
        assert record["start"] == file_hash(first / WEIGHTS) and began["start"] == ""
        assert record["method"] == "grpo" and record["optimizer_steps"] > 0
        assert "going on from the student of `primed`" in (then / "README.md").read_text()
        before, after = load_file(first / WEIGHTS), load_file(then / WEIGHTS)
        assert before.keys() == after.keys()
        assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before) == stays
    capsys.readouterr()
    train_round(made, ["on"], 0)
    assert capsys.readouterr().out.count("there already") == 2


def test_who_would_begin_as_a_student_that_was_left_untrained_is_left_untrained(embedded, tmp_path, capsys):
    made = primed_then_playing(embedded, tmp_path, 1e-2)
    with pytest.raises(NothingToTrain, match="on, seed 1: it begins as the student of 'primed', which is not trained"):
        train(Cell(made, "on", 1))
    train_round(made, ["on"], 0)
    assert capsys.readouterr().out.count("left untrained") == 2
    assert sorted(path.name for path in (tmp_path / "adapters/on").iterdir())[0] == "seed-1.untrained.txt"


def test_whom_a_student_begins_as_is_trained_first_and_no_dialogue_changes():
    conditions = {"facts": {"partition": "facts"}, "primed": PRIMED, "on": PLAYS, "off": PLAYS | {"begins": ""}}
    made = small_experiment(conditions=conditions)
    assert groups(made) == [["facts", "primed"], ["on", "off"]]
    assert reference(made, "on") == reference(made, "off") == "facts"
    on, off = (made.conditions[name] for name in ("on", "off"))
    assert on != off and on.shaped() == off.shaped()


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"on": PLAYS}, r"conditions\.on\.begins: 'primed' must name a condition above it.* Known: none"),
        ({"on": PLAYS, "primed": PRIMED}, r"must name a condition above it, whose student is trained first"),
        ({"on": PLAYS | {"begins": "on"}}, r"conditions\.on\.begins: 'on' must name a condition above"),
        ({"primed": PRIMED, "on": PLAYS | {"method": "sft"}}, r"begins: 'primed' .* method: 'sft' .* Use grpo, "),
        (
            {"f": {"partition": "facts"}, "primed": {"partition": "facts", "learns_from": "f", "base": "x"},
             "on": PLAYS},
            r"conditions\.on\.begins: 'primed' is trained on 'x', .* whose student is of",
        ),
        (
            {"primed": {"partition": "facts", "regime": "matched"}, "on": PLAYS},
            r"conditions\.on\.begins: 'primed' must be trained before 'on' is built, but regime: 'matched'",
        ),
    ],
)  # fmt: skip
def test_a_beginning_that_cannot_be_is_refused_with_its_key_and_value(conditions, said):
    with pytest.raises(ValidationError, match=said):
        small_experiment(conditions=conditions)

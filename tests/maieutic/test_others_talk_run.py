"""Students who learn another student's talk, of the same base and of another: who spoke, who learned, who sat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import maieutic
from pipeline.building.rounds import groups
from pipeline.datasets.dataset_files import read_rows
from pipeline.dialogue.casting import Casting
from pipeline.engines.transformers import load_tokenizer
from pipeline.engines.weights import HIDDEN_ITEM, weights_id
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.preflight import preflight
from pipeline.runs.dialogue_pool import dialogues_of
from tests.builders import small_experiment
from training.embedded.base import make_model

TALK = {"partition": "symmetric", "specifications": ["full"], "speaker": "asker", "selection": "none",
        "keep": "no_questions"}  # fmt: skip


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An embedded base of other weights, which learned nothing."""
    folder, tokenizer = tmp_path_factory.mktemp("other"), load_tokenizer("embedded")
    torch.manual_seed(1)
    make_model(len(tokenizer), 32, 1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "recipe.json").write_text("{}")
    return str(folder)


def experiment(out: Path | str, other: str, **sections: object) -> Experiment:
    return small_experiment(out, **{
        "seeds": [1], "engine": {"kind": "transformers"}, "dialogue": {"turns": 2, "max_tokens": 24},
        "tasks": {"train": {"full": 6, "underspecified": 3}, "exam": {"full": 2, "underspecified": 2}},
        "conditions": {
            "asker": {"partition": "facts", "selection": "none"},
            "same": TALK,
            "other": TALK | {"learns_from": "same", "base": other},
        },
        "training": {"lora": {"r": 2}, "batch": 4, "micro_batch": 4, "epochs": 1, "learning_rate": 1e-3},
        "exams": {"include": ["asking"], "samples": 1, "episodes": 1, "greedy": False},
    } | sections)  # fmt: skip


def test_in_the_student_s_seat_sits_the_other_condition_s_student_of_the_last_round() -> None:
    asked: list[tuple[str, int, int]] = []
    made = experiment("", "x", engine={"kind": "scripted"}, rounds=1)
    casting = Casting(made, lambda cell: asked.append(cell.key))  # type: ignore[func-returns-value]
    casting.cast(Cell(made, "same", 1))
    casting.cast(Cell(made, "asker", 1))
    assert asked == [("asker", 1, 0), ("asker", 1, -1)]
    assert groups(made) == [["asker"], ["same", "other"]]


def test_each_student_learns_on_its_own_base_and_sits_the_exams_on_it(other: str, tmp_path: Path, capsys) -> None:
    made = experiment(tmp_path / "run", other)
    summary, _ = maieutic.run(made)
    base, own = weights_id(made.base), weights_id(other)
    learned = {name: json.loads((made.run / f"adapters/{name}/seed-1/training.json").read_text())["model_hash"]
               for name in made.conditions}  # fmt: skip
    sat = {name: json.loads((made.run / f"results/{name}/seed-1.student.json").read_text())["model"]
           for name in made.conditions}  # fmt: skip
    assert learned == sat == {"asker": base, "same": base, "other": own} and base != own
    [talked] = cells(made, ["same"], 0)
    assert len([*dialogues_of(talked)]) == 6
    rows = {name: [row["messages"] for row in read_rows(made, name)] for name in ("same", "other")}
    assert rows["same"] == rows["other"] and rows["same"]
    card = (made.run / "datasets/other/README.md").read_text()
    assert "the student of condition `asker`" in card and "of 6 of the pool" in card
    predicted = {name: one.predicted and one.predicted.n for name, one in summary.conditions.items()}
    assert predicted == {"base": None, "asker": 3, "same": 0, "other": 0}
    capsys.readouterr()
    maieutic.run(experiment(tmp_path / "run", other))
    said = capsys.readouterr().out
    assert said.count("there already") >= 5 and "1 made" not in said and "train " not in said


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"same": TALK}, r"conditions\.same\.speaker: 'asker' must name another condition"),
        ({"same": TALK, "asker": {"partition": "facts"}}, r"conditions\.same\.speaker: 'asker' is not trained before"),
        ({"asker": {"partition": "facts", "base": "x"}}, "base: 'x' .* name whose, with learns_from"),
        ({"asker": {"partition": "facts", "method": "grpo", "speaker": "b"}}, "speaker: 'b' sits in the student's"),
        (
            {"asker": {"partition": "facts"}, "b": {"partition": "facts", "learns_from": "asker", "base": HIDDEN_ITEM}},
            r"conditions\.b\.base: 'embedded_hidden_item' is not of the kind of student\.model: 'embedded'",
        ),
    ],
)
def test_a_speaker_or_a_base_that_cannot_be_is_refused_with_its_key(conditions: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        preflight(experiment("", "x", conditions=conditions))

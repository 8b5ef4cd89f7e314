"""A training that was killed, or whose engine failed, goes on from its checkpoint to the very same adapter."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from test_preference import pair, talk
from test_student import row

from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.export import export
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.engines.model import EngineError
from pipeline.engines.transformers import TransformersModel
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.runs.store import read
from pipeline.runs.student_files import RECORD
from pipeline.runs.usage import Usage
from training import student
from training.adapter import WEIGHTS
from training.checkpoints import PROGRESS, Progress, newest
from training.inputs.job import checkpoints_of
from training.inputs.untrained import Interrupted
from training.online import grpo
from training.student import train
from training.train_round import train_round

DIES = """
import os, signal, sys
from pathlib import Path
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import load
from training import student

def die(self, args, state, control, **_):
    if state.global_step == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

student._Progress.on_step_end = die
student.train(Cell(load(Path(sys.argv[1])), "facts", 1))
"""


def experiment(out: Path, method: str, save_steps: int = 2, **sections: Any) -> Experiment:
    """Ten steps or so on the embedded base; with dropout, so that every random state matters."""
    training = {"lora": {"r": 4, "lora_dropout": 0.1}, "batch": 4, "micro_batch": 2, "learning_rate": 1e-2}
    training |= {"epochs": 3, "save_steps": save_steps, "grpo": {"group": 4, "tasks_per_step": 2}}
    made = Experiment.model_validate({
        "name": "tiny", "out": str(out), "seeds": [1], "training": training,
        "conditions": {"facts": {"partition": "facts", "method": method}},
        "engine": {"kind": "transformers"}, "tasks": {"train": {"full": 6}}, "dialogue": {"turns": 2, "max_tokens": 64},
        "turn_values": {"siblings": 2, "rollouts": 4},
    } | sections)  # fmt: skip
    if method == "grpo":
        export(made, "facts")
    else:
        made_of = {"sft": lambda n: row(n, answer="7" * (1 + n % 3)), "dpo": pair, "kto": lambda n: talk(n, n % 2 == 0)}
        rows = [made_of[method](n) for n in range(12)]
        folder = dataset_path(made, "facts")
        write_rows(folder, rows, FORMATS[folder.name])
    return made


def apart_from_time(adapter: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((adapter / RECORD).read_text())
    return {key: value for key, value in record.items() if key != "seconds"} | {"loss": pytest.approx(record["loss"])}


# An epoch is 3 steps: from the middle of the second, and from the end of the first.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "save_steps", "dies_at", "left"),
    [("sft", 2, 5, 4), ("sft", 3, 5, 3), ("dpo", 2, 5, 4), ("grpo", 2, 5, 4)],
)
def test_a_training_killed_in_its_midst_ends_with_the_bytes_of_one_that_was_not(
    tmp_path, method, save_steps, dies_at, left
):
    whole, cut = (experiment(tmp_path / name, method, save_steps) for name in ("whole", "cut"))
    (tmp_path / "config.yaml").write_text(dump(cut))
    command = [sys.executable, "-c", DIES, str(tmp_path / "config.yaml"), str(dies_at)]
    died = subprocess.run(command, capture_output=True, timeout=280, cwd=Path(__file__).parents[2])
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    folder = checkpoints_of(Cell(cut, "facts", 1))
    assert max(int(path.parent.name[11:]) for path in folder.glob(f"*/{PROGRESS}")) == left
    resumed, expected = train(Cell(cut, "facts", 1)), train(Cell(whole, "facts", 1))
    assert (resumed / WEIGHTS).read_bytes() == (expected / WEIGHTS).read_bytes()
    assert any(weights.any() for name, weights in load_file(resumed / WEIGHTS).items() if "lora_B" in name)
    assert apart_from_time(resumed) == apart_from_time(expected)
    assert [path.name for path in resumed.parent.iterdir()] == ["seed-1"], "checkpoints go with the training"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dpo", "kto"])
def test_a_later_rounds_training_goes_on_too_held_to_the_adapter_that_it_began_with(tmp_path, monkeypatch, method):
    whole, cut = (experiment(tmp_path / name, method) for name in ("whole", "cut"))
    before = train(Cell(experiment(tmp_path / "before", "sft"), "facts", 1))

    def stop(self: Any, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 5:
            raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(student._Progress, "on_step_end", stop)
        with pytest.raises(ZeroDivisionError):
            train(Cell(cut, "facts", 1), before)
    resumed, expected = train(Cell(cut, "facts", 1), before), train(Cell(whole, "facts", 1), before)
    assert (resumed / WEIGHTS).read_bytes() == (expected / WEIGHTS).read_bytes()
    assert (resumed / WEIGHTS).read_bytes() != (before / WEIGHTS).read_bytes()
    assert apart_from_time(resumed) == apart_from_time(expected)


def failing(monkeypatch: pytest.MonkeyPatch, *calls: int) -> None:
    """Have the engine fail at these calls of it, counted from 1."""
    count, original = [0], TransformersModel.complete_ids

    async def fail(self: TransformersModel, *asked: Any) -> Any:
        count[0] += 1
        if count[0] in calls:
            raise EngineError("the queue is full")
        return await original(self, *asked)

    monkeypatch.setattr(TransformersModel, "complete_ids", fail)
    monkeypatch.setattr(grpo, "WAITS", (0, 0))


def small(out: Path) -> Experiment:
    return experiment(out, "grpo", dialogue={"turns": 1, "max_tokens": 8}, tasks={"train": {"full": 2}})


def test_a_dialogue_whose_engine_failed_is_played_again_as_it_was(tmp_path, monkeypatch):
    whole = train(Cell(small(tmp_path / "whole"), "facts", 1))
    failing(monkeypatch, 2, 3)
    tried = train(Cell(small(tmp_path / "tried"), "facts", 1))
    assert (tried / WEIGHTS).read_bytes() == (whole / WEIGHTS).read_bytes()
    assert apart_from_time(tried) == apart_from_time(whole)


def test_an_engine_that_keeps_failing_leaves_a_checkpoint_and_the_others_are_trained(tmp_path, monkeypatch, capsys):
    made = small(tmp_path / "cut").model_copy(update={"seeds": (1, 2)})
    export(made, "facts")
    whole = train(Cell(small(tmp_path / "whole"), "facts", 1))
    failing(monkeypatch, *range(9, 33))  # in the second of 2 steps, all three tries of its 8 dialogues
    with pytest.raises(Interrupted, match=r"train facts seed 1: interrupted after step 1 of 2: the queue is full"):
        train_round(made, ["facts"], 0)
    assert "train facts seed 2: 2 rows, 2 steps" in capsys.readouterr().out
    assert [path.name for path in checkpoints_of(Cell(made, "facts", 1)).glob("checkpoint-*")] == ["checkpoint-1"]
    train_round(made, ["facts"], 0)
    said = capsys.readouterr().out
    assert "train facts seed 1: goes on after step 1" in said and "train facts seed 2: there already" in said
    assert (made.run / "adapters/facts/seed-1" / WEIGHTS).read_bytes() == (whole / WEIGHTS).read_bytes()


def test_what_an_interrupted_training_asked_is_counted_once(tmp_path, monkeypatch):
    cell = Cell(small(tmp_path), "facts", 1)
    failing(monkeypatch, *range(9, 33))
    with pytest.raises(Interrupted):
        train(cell)
    counted = [usage.answers for usage in read(cell.experiment.run / "usage.jsonl", Usage)]
    assert counted == [8], "the first of 2 steps"
    train(cell)
    assert [usage.answers for usage in read(cell.experiment.run / "usage.jsonl", Usage)] == [8, 8]


def test_only_whole_checkpoints_of_the_same_training_are_gone_on_from(tmp_path):
    a, b, c = ({"method": "sft", "training": {"batch": 8, "micro_batch": 4}, "data_hash": data} for data in "abc")
    in_smaller_passes = a | {"training": {"batch": 8, "micro_batch": 1}}
    for step, kept in ((2, a), (10, in_smaller_passes), (12, b), (20, None)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        if kept is not None:
            held = Progress(made_from=kept, epochs=0, seconds=1.0, loss=2.0, batch_order="", counted={})
            (tmp_path / f"checkpoint-{step}" / PROGRESS).write_text(json.dumps(held._asdict()))
    assert newest(tmp_path, a) == tmp_path / "checkpoint-10"
    assert newest(tmp_path, c) is None and newest(tmp_path / "none", a) is None

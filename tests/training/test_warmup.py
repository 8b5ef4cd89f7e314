"""The warm-up of a base: what it learns and never learns, the base that it leaves, and who starts from that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message, Turn
from pipeline.datasets.card import card
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import write_rows
from pipeline.datasets.survey import surveyed
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.transformers import load_tokenizer
from pipeline.engines.weights import is_embedded_base, weights_id
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import Student, Warmup
from pipeline.experiment.settings import Grpo
from pipeline.knowledge.condition import Condition
from pipeline.reading.embedded_world.closed import student_turn
from pipeline.reading.protocol import measured
from pipeline.runs.student_files import RECORD
from pipeline.tasks.loading import base_tasks, load_tasks
from tests.fakes import FakeModel
from training.student import train
from training.trainers import merged_base
from training.trainers.sft import encode_rows
from training.warmup import NEUTRAL, warm_up, warmup_rows

SMALL: dict[str, Any] = {"full": 6, "told": 6, "learning_rate": 1e-2}
LOOKUP = {"source": "lookup", "train": {"full": 30, "underspecified": 30}, "exam": {"full": 20, "underspecified": 20}}


def experiment(model: Path, out: Path, **sections: Any) -> Experiment:
    common = {
        "name": "warm",
        "out": str(out),
        "engine": {"kind": "transformers"},
        "student": {"model": str(model), "warmup": SMALL},
        "training": {"bf16": False, "lora": {"r": 4}, "batch": 4, "micro_batch": 4},
        "conditions": {"facts": {"partition": "facts"}},
    }
    return Experiment.model_validate(common | sections)


def rows(run: Experiment) -> list[dict[str, Any]]:
    return warmup_rows(Cell(run, "facts", 1), Warmup(**SMALL))


@pytest.fixture(scope="module")
def warmed(embedded, tmp_path_factory) -> Experiment:
    model = tmp_path_factory.mktemp("base") / "made"
    shutil.copytree(embedded, model)
    (model / "recipe.json").write_text("{}")  # as a base that the project made
    run = experiment(model, tmp_path_factory.mktemp("warm"))
    warm_up(run, Warmup(**SMALL))
    return run


@pytest.mark.parametrize("tasks", [{}, LOOKUP], ids=["embedded", "lookup"])
def test_loss_is_on_the_answer_alone_and_no_turn_of_the_student_asks(embedded, tmp_path, tasks):
    run = experiment(embedded, tmp_path, tasks=tasks)
    for row in rows(run):
        own = [message["content"] for message in row["messages"] if message["role"] == "assistant"]
        assert row["learn"] == [False] * (len(row["messages"]) - 1) + [True]
        assert set(own[:-1]) <= set(NEUTRAL) and not any("?" in text for text in own)
        assert "The answer is" in own[-1]


def test_what_a_neutral_turn_does_is_nothing_that_is_measured():
    task = base_tasks(Experiment(name="x", conditions={"f": {"partition": "facts"}}).tasks, {"underspecified": 1})[0]
    for text in NEUTRAL:
        does = student_turn(measured(task, [Turn(party="student", text=text)], 0))
        assert does.attempt is None and not does.asks_anything and not does.done and does.stance == "none"


def test_a_task_that_was_told_is_answered_only_once_all_of_it_was_told(embedded, tmp_path):
    run = experiment(embedded, tmp_path, tasks=LOOKUP)
    tasks = {task.id: task for task in base_tasks(run.tasks, {"full": 6, "underspecified": 6})}
    for row in rows(run):
        heard = " ".join(message["content"] for message in row["messages"] if message["role"] == "user")
        assert all(fact.text in heard for fact in tasks[row["task_id"]].facts if fact.needed)


@pytest.mark.parametrize("source", ["embedded", "lookup", "hidden_item"])
def test_no_student_is_trained_or_examined_on_what_warmed_its_base(source):
    tasks = Experiment(name="x", tasks={"source": source}, conditions={"f": {"partition": "facts"}})
    warm = {task.full_question for task in base_tasks(tasks.tasks, {"full": 60, "underspecified": 60})}
    others = [*load_tasks(tasks.tasks, "train")[0], *exam_tasks(tasks)[0]]
    assert len(warm) >= 60 and not warm & {task.full_question for task in others}


def test_what_a_warm_up_leaves_is_an_ordinary_base_that_learned(warmed):
    base, cold = Path(warmed.base), warmed.student.model
    assert base.is_dir() and is_embedded_base(warmed.base) and warmed.is_closed
    before, after = (load_tokenizer(name) for name in (cold, warmed.base))
    encoded = encode_rows(after, rows(warmed), 512)
    assert encoded == encode_rows(before, rows(warmed), 512)
    losses = [_loss(AutoModelForCausalLM.from_pretrained(place), encoded) for place in (cold, base)]
    assert losses[1] < losses[0] - 0.1


def _loss(model: Any, encoded: list[Any]) -> float:
    with torch.inference_mode():
        each = [model(**{key: torch.tensor([ids]) for key, ids in row.items()}).loss for row in encoded]
    return float(torch.stack(each).mean())


def test_a_second_call_leaves_the_base_and_another_warm_up_makes_another(warmed, embedded, tmp_path, capsys):
    before = weights_id(warmed.base), (Path(warmed.base) / "model.safetensors").stat().st_mtime_ns
    warm_up(warmed, Warmup(**SMALL))
    assert "there already" in capsys.readouterr().out
    assert before == (weights_id(warmed.base), (Path(warmed.base) / "model.safetensors").stat().st_mtime_ns)
    other = experiment(embedded, tmp_path)
    warm_up(other, Warmup(**SMALL | {"seed": 1}))
    assert weights_id(other.base) != before[0]


def test_it_does_not_hang_on_how_students_learn_while_they_play(warmed, capsys):
    learned = weights_id(warmed.base)
    playing = warmed.training.model_copy(update={"grpo": Grpo(group=4, tasks_per_step=2)})
    warm_up(warmed.model_copy(update={"training": playing}), Warmup(**SMALL))
    assert "there already" in capsys.readouterr().out and weights_id(warmed.base) == learned


def test_students_and_partners_start_from_it_and_dialogues_are_named_by_it(warmed):
    assert warmed.role("student").model == warmed.role("partner").model == warmed.base
    assert warmed.fingerprint() != warmed.without_warmup().fingerprint()
    cell = Cell(warmed, "facts", 1)
    write_rows(dataset_path(warmed, "facts"), [row | {"seed": 1} for row in rows(warmed)])
    record = json.loads((train(cell) / RECORD).read_text())
    assert record["model_hash"] == weights_id(warmed.base)
    readme = (warmed.run / "adapters" / "facts" / "seed-1" / "README.md").read_text()
    assert "warmed up before" in readme and str(warmed.run) not in readme


def test_the_card_of_a_dataset_says_what_its_base_had_learned(warmed):
    (warmed.run / "dialogues").mkdir(exist_ok=True)
    with surveyed(warmed, "facts") as survey:
        text = card(survey, {"sft": 0})
    assert "warmed up before: it learned 6 full tasks, and 6 whose missing facts it was told" in text


def test_under_the_sampling_prompt_its_own_questions_stay_and_all_else_is_worked_out(embedded, tmp_path, monkeypatch):
    student = {"model": str(embedded), "prompts": "brief", "sampling_prompt": "demonstrated"}
    run = experiment(embedded, tmp_path, tasks=LOOKUP, student=student)

    class Asks(FakeModel):
        """A question of every second task, an answer of the others."""

        asked = 0

        async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
            self.asked += 1
            text = "Well. Where is it? I wonder." if self.asked % 2 else "Where? The answer is 4."
            return Completion(text, tokens=3, prompt_tokens=9)

    model = Asks()
    monkeypatch.setattr("training.kept_turns.open_role", lambda *_: model)
    made = warmup_rows(Cell(run, "facts", 1), Warmup(full=3, told=3, kept=8))
    again = warmup_rows(Cell(run, "facts", 1), Warmup(full=3, told=3, kept=8))
    assert made == again and model.asked == 8  # sampled once
    shown = [row for row in made if len(row["messages"]) > 9]
    assert len(made) == 14 and len(shown) == 8 and {row["specification"] for row in shown} == {"full"}
    last = [row["messages"][-1]["content"] for row in shown]
    assert last.count("Where is it?") == 4 and sum("The answer is" in text for text in last) == 4
    assert len({row["id"] for row in made}) == 14


def test_nothing_is_kept_of_a_sampling_prompt_that_is_not_there():
    with pytest.raises(ValueError, match=r"warmup\.kept: 5 rows .* sampling_prompt names none"):
        Student(warmup=Warmup(kept=5))


def test_a_source_without_tasks_for_a_base_is_refused(embedded):
    with pytest.raises(ValueError, match=r"student\.warmup: source 'gsm8k' keeps no tasks apart"):
        Experiment(
            name="x",
            tasks={"source": "gsm8k", "path": "x.jsonl", "train": {"full": 1}, "exam": {"full": 1}},
            student={"model": str(embedded), "warmup": {}},
            conditions={"verifier": Condition(partition="verifier")},
        )


def test_a_student_can_be_merged_into_a_base_by_itself(warmed, tmp_path):
    adapter = next((warmed.run / "warmup" / "adapters").glob("*/seed-*"))
    merged_base.main(adapter, tmp_path / "base")
    assert weights_id(str(tmp_path / "base")) == weights_id(warmed.base)
    merged_base.main(adapter, tmp_path / "base")  # again: its own


def test_merging_refuses_what_is_no_student_and_never_removes_what_it_did_not_make(warmed, tmp_path):
    adapter = next((warmed.run / "warmup" / "adapters").glob("*/seed-*"))
    (tmp_path / "mine").mkdir()
    (tmp_path / ".base.old").touch()
    with pytest.raises(ConfigError, match="mine is there, and no base that was merged"):
        merged_base.main(adapter, tmp_path / "mine")
    with pytest.raises(ConfigError, match=r"holds no adapter_model\.safetensors"):
        merged_base.main(tmp_path / "mine", tmp_path / "base")
    merged_base.main(adapter, tmp_path / "base")
    assert (tmp_path / "mine").is_dir() and (tmp_path / ".base.old").is_file()

"""A challenger that learns: from which of its replies, what stops it, and that it poses otherwise afterwards."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from pipeline.core.errors import ConfigError, RunError
from pipeline.core.schema import Task
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.rows import Row
from pipeline.experiment.experiment import Experiment
from pipeline.posing.challenge import ask, task_of
from pipeline.posing.pose import attempts_at, pose, pose_documents
from pipeline.posing.replies import Refusal, refusals_path
from pipeline.prompts.prompts import Prompts
from pipeline.runs.lock import writing
from pipeline.runs.store import read
from pipeline.runs.student_files import RECORD
from tests.pipeline.posing.test_pose import Challenger, hall
from tests.pipeline.posing.test_reward import store
from training.adapter import WEIGHTS
from training.challenger import learn

HALLS = [hall(i) for i in range(4)]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(document._asdict()) + "\n" for document in HALLS))
    return path


@pytest.fixture
def run(embedded: Path, tmp_path: Path) -> Experiment:
    """Of eight attempts at four halls, one of each hall became a task; nobody was asked any of them yet."""
    made = Experiment.model_validate({
        "name": "tiny",
        "out": str(tmp_path / "run"),
        "seeds": [3],
        "tasks": {"source": "posed", "path": str(tmp_path / "posed" / "tasks.jsonl")},
        "engine": {"kind": "transformers"},
        "challenger": {"model": str(embedded)},
        "dialogue": {"temperature": 0},
        "conditions": {"facts": {"partition": "facts"}},
        "training": {"bf16": False, "lora": {"r": 4}, "batch": 4, "micro_batch": 4, "epochs": 4, "learning_rate": 1e-2},
    })  # fmt: skip
    attempts = attempts_at(HALLS, 2, "weights", 0)
    asyncio.run(pose(Challenger(), attempts, (), Path(made.tasks.path), 0, 4))
    return made


def tasks(run: Experiment) -> list[Task]:
    return list(read(Path(run.tasks.path), Task))


def learned(run: Experiment, adapter: Path) -> list[Row]:
    """The rows that an adapter was trained on."""
    own = run.model_copy(update={"out": str(adapter.parents[2]), "conditions": {"challenger": run.conditions["facts"]}})
    return read_rows(own, "challenger")


def test_what_is_learned_is_the_claim_behind_its_prompt_where_a_task_has_dialogues(run, documents):
    half, always, never, _unplayed = tasks(run)
    store(run, "facts", half, half.answer, "1")
    store(run, "facts", always, always.answer, always.answer)
    store(run, "facts", never, "1", "2")
    adapter = learn(run, documents)
    rows = {row["task_id"]: row for row in learned(run, adapter)}
    assert set(rows) == {half.id}  # the others are the best to their prompts, too, and below the mean of all
    row = rows[half.id]
    assert row["messages"][:-1] == ask(HALLS[0], 0, Prompts("chat")) and row["learn"] == [False, True]
    said = row["messages"][-1]["content"]
    assert said.startswith('Evidence: "Oak hall') and said.endswith(f"Answer: {half.answer}")
    assert task_of("again", said, HALLS[0]).question == half.question
    record = json.loads((adapter / RECORD).read_text())
    assert (record["rows"], record["seed"]) == (1, 3)


def test_of_two_tasks_from_one_prompt_the_one_nearer_to_one_half_is_learned(run, documents):
    first, path = tasks(run)[0], Path(run.tasks.path)
    reply = json.loads(path.with_suffix(".replies.jsonl").read_text().splitlines()[0])
    other = first.model_copy(update={"id": "posed-other", "question": "How many locks does Oak hall have in all?"})
    with path.open("a") as file:
        file.write(other.model_dump_json() + "\n")
    with path.with_suffix(".replies.jsonl").open("a") as file:
        file.write(json.dumps(reply | {"id": "other", "attempt": 2}) + "\n")
    store(run, "facts", first, first.answer, first.answer, "1", first.answer)
    store(run, "facts", other, "1", other.answer)
    assert [row["task_id"] for row in learned(run, learn(run, documents))] == ["posed-other"]


def test_without_dialogues_it_is_said_what_lacks_and_all_tasks_can_be_learned_alike(run, documents):
    with pytest.raises(
        RunError, match=r"run/dialogues/facts\.jsonl: no dialogue about .*tasks\.jsonl. Run `maieutic b"
    ):
        learn(run, documents)
    assert {row["task_id"] for row in learned(run, learn(run, documents, valid=True))} == {t.id for t in tasks(run)}


def test_it_poses_otherwise_once_it_has_learned_and_its_adapter_is_made_once(run, documents, monkeypatch, capsys):
    monkeypatch.setattr("pipeline.posing.pose.MAX_TOKENS", 16)
    adapter = learn(run, documents, valid=True)
    stamp = (adapter / WEIGHTS).stat().st_mtime_ns
    assert learn(run, documents, valid=True) == adapter and (adapter / WEIGHTS).stat().st_mtime_ns == stamp
    assert (
        "8 replies = 4 tasks + 4 refused; 4 tasks have a reward, with refusals 0.45 on average"
        in capsys.readouterr().out
    )
    card = ModelCard.load(adapter / "README.md")
    assert "learned 4 of its own replies" in card.text and "student" not in card.text
    taught = run.model_copy(update={"challenger": run.challenger.model_copy(update={"adapter": str(adapter)})})
    for each in (run, taught):
        assert pose_documents(each, documents, 2) == 0
    before, after = (list(read(refusals_path(Path(run.tasks.path)), Refusal))[-16:][i : i + 8] for i in (0, 8))
    assert not {refusal.id for refusal in before} & {refusal.id for refusal in after}
    assert {(r.document, r.attempt) for r in before} == {(r.document, r.attempt) for r in after}
    assert {refusal.said for refusal in before} != {refusal.said for refusal in after}
    with pytest.raises(ConfigError, match=r"challenger\.adapter: .* would be replaced\. Pose into another file"):
        learn(taught, documents, valid=True)
    shutil.copytree(Path(run.tasks.path).parent, adapter.parents[4] / "second")
    second = run.tasks.model_copy(update={"path": str(adapter.parents[4] / "second" / "tasks.jsonl")})
    again = learn(taught.model_copy(update={"tasks": second}), documents, valid=True)  # goes on from what posed
    assert json.loads((again / RECORD).read_text())["start"] and (again / WEIGHTS).stat().st_mtime_ns != stamp


def test_where_nothing_became_a_task_it_is_said_where_the_reasons_are_and_what_to_do(run, documents):
    Path(run.tasks.path).unlink()
    with pytest.raises(RunError, match=r"tasks\.replies\.jsonl: .* 4 were refused \(.*failures\.jsonl.*--attempts"):
        learn(run, documents, valid=True)


def test_a_document_that_is_no_longer_the_same_is_refused(run, documents):
    documents.write_text(documents.read_text().replace("Oak hall has 12 doors", "Oak hall has 13 doors"))
    with pytest.raises(ConfigError, match=r"DOCUMENTS: 'oak' is not the document that .* was posed about"):
        learn(run, documents, valid=True)


def test_a_challenger_behind_a_server_cannot_be_trained(run, documents):
    scripted = Experiment.model_validate(run.model_dump() | {"engine": {"kind": "scripted"}})
    with pytest.raises(ConfigError, match=r"engine\.kind: 'scripted'.*Expected transformers or vllm"):
        learn(scripted, documents, valid=True)


def test_nobody_learns_while_somebody_poses(run, documents):
    with writing(Path(run.tasks.path).parent), pytest.raises(RunError, match="another process poses into"):
        learn(run, documents, valid=True)


def test_an_adapter_that_is_none_is_named_by_its_key(run, documents, tmp_path):
    taught = run.model_copy(update={"challenger": run.challenger.model_copy(update={"adapter": str(tmp_path)})})
    with pytest.raises(
        ConfigError, match=r"challenger\.adapter: .* holds no adapter_config\.json.*maieutic challenger"
    ):
        pose_documents(taught, documents, 1)
    with pytest.raises(ConfigError, match=r"challenger\.adapter: .* holds no adapter_config\.json"):
        learn(taught, documents, valid=True)

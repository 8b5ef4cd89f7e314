"""Adapters: whole or absent, the same bytes for the same seed, and trained on nothing but the given rows."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from pipeline.core.errors import ConfigError, RunError
from pipeline.core.files import file_hash
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.first_acts import COUNTED
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.datasets.matching import MATCHED
from pipeline.datasets.rows import Row
from pipeline.engines.transformers import load_tokenizer
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, dump
from pipeline.experiment.settings import Training as Settings
from pipeline.knowledge.condition import Condition
from pipeline.runs.student_files import RECORD
from training.adapter import WEIGHTS, that_matters
from training.inputs.job import batching
from training.inputs.masks import RowTooLong
from training.inputs.student_rows import student_rows
from training.inputs.untrained import NothingToTrain
from training.student import train
from training.trainers.sft import encode_rows, token_counter


def row(number: int, seed: int = 1, round: int = 0, answer: str = "7") -> Row:
    talk = [
        f"Tom has {number} hats. How many?",
        "How many hats does Tom lose?",
        "I do not know that.",
        f"The answer is {answer}.",
    ]
    return {
        "id": f"d{number}-{seed}-{round}",
        "task_id": f"t{number}",
        "specification": "full",
        "seed": seed,
        "round": round,
        "messages": [{"role": ["user", "assistant"][i % 2], "content": text} for i, text in enumerate(talk)],
        "learn": [False, True, False, True],
    }


# float32: what is compared here, processors differ in otherwise.
USUAL: dict[str, Any] = {
    "bf16": False,
    "lora": {"r": 4},
    "batch": 4,
    "micro_batch": 4,
    "learning_rate": 1e-2,
    "epochs": 2,
}


def test_a_row_is_learned_as_often_as_its_first_act_was_played(tmp_path: Path) -> None:
    made = experiment(tmp_path / "model", tmp_path / "run")
    weighed = [row(number) | {"times": times} for number, times in ((1, 0), (2, 1), (3, 3))]
    write_rows(dataset_path(made, "facts"), weighed, COUNTED)
    assert [one["id"] for one in student_rows(Cell(made, "facts", 1))] == ["d2-1-0", *["d3-1-0"] * 3]


def test_rows_that_do_not_say_how_often_they_count_are_not_learned_as_if_they_did(tmp_path: Path) -> None:
    made = experiment(tmp_path / "model", tmp_path / "run", [row(1)])
    weighed = Condition(partition="facts", first_acts="as_played")
    with pytest.raises(ConfigError, match="does not say how often its rows count"):
        student_rows(Cell(made.model_copy(update={"conditions": {"facts": weighed}}), "facts", 1))


def experiment(model: Path, out: Path, rows: list[Row] | None = None, rounds: int = 1, **settings: Any) -> Experiment:
    made = Experiment(
        name="tiny",
        out=str(out),
        rounds=rounds,
        student={"model": str(model)},
        conditions={"facts": Condition(partition="facts")},
        training=Settings(**USUAL | settings),
    )
    rows = [row(n) for n in range(6)] if rows is None else rows
    write_rows(dataset_path(made, "facts"), rows, MATCHED if "matched" in rows[0] else FORMATS["sft"])
    return made


def record(adapter: Path) -> dict[str, Any]:
    return json.loads((adapter / RECORD).read_text())


@pytest.fixture(scope="module")
def plain(embedded, tmp_path_factory) -> Path:
    """The adapter of the usual rows and settings."""
    return train(Cell(experiment(embedded, tmp_path_factory.mktemp("plain")), "facts", 1))


@torch.inference_mode()
def loss(model: Path, adapter: Path | None = None) -> float:
    """Mean loss on the student's tokens of one row."""
    network: Any = AutoModelForCausalLM.from_pretrained(model)
    if adapter is not None:
        network = PeftModel.from_pretrained(network, adapter)
    sequences = encode_rows(load_tokenizer(str(model)), [row(3)], 512)
    losses = [
        network(input_ids=torch.tensor([s["input_ids"]]), labels=torch.tensor([s["labels"]])).loss for s in sequences
    ]
    return float(sum(losses)) / len(losses)


@pytest.mark.parametrize("kind", ["embedded", "qwen3"])
def test_training_makes_the_students_turns_likelier_and_records_what_it_did(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    made = experiment(model, tmp_path, epochs=10)
    adapter = train(Cell(made, "facts", 1))
    assert adapter == tmp_path / "adapters/facts/seed-1"
    assert loss(model, adapter) < loss(model) - 0.3
    wrote = record(adapter)
    turns = 2 if kind == "qwen3" else 1  # its template rewrites history, so every turn is a sequence
    assert (wrote["rows"], wrote["sequences"]) == (6, 6 * turns)
    assert wrote["optimizer_steps"] == 10 * (2 if turns == 1 else 3)
    assert wrote["trained_tokens"] == 10 * sum(map(token_counter(made), [row(n) for n in range(6)]))
    assert wrote["training"]["epochs"] == 10 and wrote["data_hash"] and wrote["seconds"] > 0
    assert all("lora_" in name for name in load_file(adapter / WEIGHTS))


@pytest.mark.parametrize("rows", [3, 8])
def test_with_steps_all_students_take_as_many_however_many_rows_they_have(rows, embedded, tmp_path):
    made = experiment(embedded, tmp_path, [row(n) for n in range(rows)], steps=5)
    wrote = record(train(Cell(made, "facts", 1)))
    a_row = sum(map(token_counter(made), [row(n) for n in range(rows)])) / rows
    seen = {3: 5 * 3, 8: 5 * 4}[rows]  # of batches of four, where three are no more
    assert wrote["optimizer_steps"] == 5 and wrote["trained_tokens"] == pytest.approx(seen * a_row, rel=0.1)


def test_steps_and_epochs_of_a_method_are_refused_together():
    with pytest.raises(ValueError, match=r"steps: 5 ends every training, and methods\.kto\.epochs"):
        Settings(steps=5, methods={"kto": {"epochs": 1}})


def test_one_seed_gives_the_same_bytes_and_another_seed_does_not(embedded, plain, tmp_path):
    again = train(Cell(experiment(embedded, tmp_path / "again"), "facts", 1))
    other = train(Cell(experiment(embedded, tmp_path / "other", [row(n, 2) for n in range(6)]), "facts", 2))
    assert (plain / WEIGHTS).read_bytes() == (again / WEIGHTS).read_bytes() != (other / WEIGHTS).read_bytes()


def test_the_same_training_is_skipped_and_changed_rows_or_settings_are_not(embedded, tmp_path):
    adapter = train(Cell(experiment(embedded, tmp_path), "facts", 1))
    stamp = stamped(adapter)
    assert train(Cell(experiment(embedded, tmp_path), "facts", 1)) == adapter
    assert stamped(adapter) == stamp
    train(Cell(experiment(embedded, tmp_path, [row(n, answer="9") for n in range(6)]), "facts", 1))
    changed = stamped(adapter)
    alpha = experiment(embedded, tmp_path, [row(n, answer="9") for n in range(6)], lora={"r": 4, "lora_alpha": 8})
    train(Cell(alpha, "facts", 1))
    assert len({stamp, changed, stamped(adapter)}) == 3


def test_a_student_trained_in_larger_passes_is_there_but_not_one_of_kto():
    def of(method: str, micro: int) -> dict[str, Any]:
        return {"method": method, "training": {"batch": 32, "micro_batch": micro, "gradient_checkpointing": micro == 1}}

    assert that_matters(of("sft", 8)) == that_matters(of("sft", 1))
    assert that_matters(of("kto", 8)) != that_matters(of("kto", 1))
    assert that_matters(of("dpo", 8)) != that_matters(of("dpo", 1))


def stamped(adapter: Path) -> tuple[int, int]:
    # The number of a deleted file's inode is given to new files, so it does not tell them apart by itself.
    about = (adapter / WEIGHTS).stat()
    return about.st_ino, about.st_mtime_ns


def test_rows_of_other_seeds_and_rounds_are_not_trained_on(embedded, plain, tmp_path):
    noise = [row(50, seed=2), row(51, round=1)]
    mixed = train(Cell(experiment(embedded, tmp_path, [row(n) for n in range(6)] + noise), "facts", 1))
    assert (mixed / WEIGHTS).read_bytes() == (plain / WEIGHTS).read_bytes()


def test_a_later_round_goes_on_from_the_adapter_of_the_round_before(embedded, tmp_path):
    rows = [row(n, round=r) for n in range(6) for r in (0, 1)]
    made = experiment(embedded, tmp_path, rows, rounds=2, learning_rate=3e-3, epochs=8)
    first = train(Cell(made, "facts", 1))
    assert first == tmp_path / "adapters/facts/seed-1-round-0"
    still = train(Cell(experiment(embedded, tmp_path, rows, rounds=2, learning_rate=1e-12), "facts", 1, 1), first)
    before, after = load_file(first / WEIGHTS), load_file(still / WEIGHTS)
    assert before.keys() == after.keys()
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)
    moved = train(Cell(made, "facts", 1, 1), first)
    assert moved == tmp_path / "adapters/facts/seed-1"
    assert loss(embedded, moved) < loss(embedded, first) < loss(embedded)
    assert record(moved)["start"] == file_hash(first / WEIGHTS) != ""


def test_passes_of_fewer_rows_give_the_same_step(embedded, plain, tmp_path):
    parts = train(Cell(experiment(embedded, tmp_path, micro_batch=2), "facts", 1))
    a, b = load_file(plain / WEIGHTS), load_file(parts / WEIGHTS)
    assert all(torch.allclose(a[name], b[name], atol=1e-4) for name in a)
    assert record(plain)["optimizer_steps"] == record(parts)["optimizer_steps"]


def test_an_adapter_has_pefts_card_with_what_it_is_and_no_place_of_this_machine(embedded, plain):
    card = ModelCard.load(plain / "README.md")
    assert card.data.library_name == "peft" and card.data.base_model == embedded.name
    assert {"lora", "maieutic", "sft"} <= {*card.data.tags} and card.data.pipeline_tag == "text-generation"
    of_record = record(plain)
    for said in (
        "tiny, facts, seed 1",
        "`facts`: partition `facts`",
        "method | `sft`",
        of_record["data_hash"],
        "6 rows",
    ):
        assert said in card.text
    assert "More Information Needed" not in card.text and str(embedded.parent) not in (plain / "README.md").read_text()


@pytest.mark.parametrize("by_name", [True, False], ids=["named", "folder"])
def test_what_a_card_says_loads_its_adapter(embedded, tmp_path, by_name):
    adapter = train(Cell(experiment(Path("embedded") if by_name else embedded, tmp_path), "facts", 1))
    code = ModelCard.load(adapter / "README.md").text.split("```python\n")[1].split("```")[0]
    code = code.replace("PATH OF THIS FOLDER", str(adapter)).replace(f"PATH OF {embedded.name}", str(embedded))
    names: dict[str, Any] = {}
    exec(code, names)
    loaded = {key.replace(".default", ""): value for key, value in names["student"].state_dict().items()}
    weights = load_file(adapter / WEIGHTS)
    assert weights and all(torch.equal(loaded[key], value) for key, value in weights.items())


def test_a_condition_without_rows_is_a_typed_error_and_leaves_no_adapter(embedded, tmp_path):
    with pytest.raises(NothingToTrain, match="facts, seed 1, round 0: no rows among 1"):
        train(Cell(experiment(embedded, tmp_path, [row(1, seed=2)]), "facts", 1))
    with pytest.raises(RunError, match="maieutic build"):
        train(Cell(experiment(embedded, tmp_path).model_copy(update={"out": str(tmp_path / "else")}), "facts", 1))
    assert not (tmp_path / "adapters").exists()


@pytest.mark.parametrize("limit", [40, 4096])
def test_a_row_beyond_max_length_or_the_context_is_named_and_nothing_written(qwen3, tmp_path, limit):
    times = 1 if limit == 40 else 40
    long = row(7) | {"messages": [{**m, "content": m["content"] * times} for m in row(7)["messages"]]}
    with pytest.raises(RowTooLong, match=rf"train facts seed 1: d7-1-0: \d+ tokens, at most {min(limit, 512)} fit"):
        train(Cell(experiment(qwen3, tmp_path, [long], max_length=limit), "facts", 1))
    assert not (tmp_path / "adapters").exists()


def test_matched_training_uses_only_the_matched_rows(embedded, tmp_path):
    rows = [{**row(n), "matched": n < 4} for n in range(6)]
    matched = train(Cell(experiment(embedded, tmp_path / "m", rows, regime="matched"), "facts", 1))
    assert record(matched)["rows"] == 4
    with pytest.raises(ConfigError, match=r"regime: 'matched'"):
        train(Cell(experiment(embedded, tmp_path / "n", regime="matched"), "facts", 1))


def test_a_batch_that_processes_cannot_share_is_refused(embedded, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert batching(experiment(embedded, tmp_path, batch=8, micro_batch=2)) == (2, 2)
    assert batching(experiment(embedded, tmp_path, batch=8, micro_batch=8)) == (4, 1)
    with pytest.raises(ConfigError, match=r"training\.batch: 9 is not a multiple of 8"):
        batching(experiment(embedded, tmp_path, batch=9, micro_batch=4))


def test_what_a_killed_training_left_is_cleared_by_the_next(embedded, tmp_path):
    left = tmp_path / "adapters/facts/.seed-1.killed"
    left.mkdir(parents=True)
    (left / WEIGHTS).write_bytes(b"half")
    adapter = train(Cell(experiment(embedded, tmp_path), "facts", 1))
    assert [path.name for path in adapter.parent.iterdir()] == ["seed-1"]


def test_a_disk_full_when_an_adapter_is_saved_is_told_in_words_and_leaves_nothing(embedded, tmp_path):
    made, limits = experiment(embedded, tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # no file may grow beyond this
    try:
        with pytest.raises(OSError, match=r"seed-1: the adapter could not be saved, perhaps on a full disk"):
            train(Cell(made, "facts", 1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in (tmp_path / "adapters/facts").iterdir()] == [".seed-1.checkpoints"]
    assert (train(Cell(made, "facts", 1)) / WEIGHTS).is_file()


@pytest.mark.slow
def test_two_processes_train_the_same_adapter_as_one(embedded, tmp_path):
    rows = [row(n) for n in range(8)]
    alone = train(Cell(experiment(embedded, tmp_path / "alone", rows), "facts", 1))
    made = experiment(embedded, tmp_path / "both", rows)
    (tmp_path / "config.yaml").write_text(dump(made))
    script = tmp_path / "run.py"
    script.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom pipeline.experiment.cell import Cell\n"
        "from pipeline.experiment.experiment import load\n"
        "from training.student import train\nassert os.environ['WORLD_SIZE'] == '2'\n"
        "train(Cell(load(Path(sys.argv[1])), 'facts', 1))\n"
    )
    # What `accelerate launch` starts; its own command line refuses several processes without a GPU.
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        str(script),
        str(tmp_path / "config.yaml"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    both = tmp_path / "both/adapters/facts/seed-1"
    a, b = load_file(alone / WEIGHTS), load_file(both / WEIGHTS)
    assert all(torch.allclose(a[name], b[name], atol=1e-5) for name in a)
    assert record(both)["optimizer_steps"] == record(alone)["optimizer_steps"] == 4
    assert [path.name for path in both.parent.iterdir()] == ["seed-1"]

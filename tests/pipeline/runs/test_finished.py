"""A stage is finished while all that it was made from, and all that it made, is as it was when it ended."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from shutil import rmtree

import pytest

from pipeline.core.files import file_hash
from pipeline.runs import finished
from pipeline.runs.finished import TRAINED, code, finish, finished_path, is_finished, state_of


def state(run: Path) -> str:
    return state_of(run, TRAINED, "a fingerprint")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One in which the stage has ended."""
    files = {
        "config.yaml": "name: small\n", "dialogues/facts.jsonl": '{"id": "a"}\n{"id": "b"}\n',
        "datasets/facts/sft/train.parquet": "rows", "adapters/facts/seed-1/adapter_model.safetensors": "weights",
        "adapters/facts/seed-1/training.json": "{}", "results/facts/seed-1.jsonl": "{}\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    finish(tmp_path, "train", state(tmp_path))
    return tmp_path


def there(run: Path) -> bool:
    return is_finished(run, "train", lambda: state(run))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a letter of a dialogue": lambda run: (run / "dialogues/facts.jsonl").write_text('{"id": "a"}\n{"id": "c"}\n'),
    "a dialogue less": lambda run: (run / "dialogues/facts.jsonl").write_text('{"id": "a"}\n'),
    "a file less": lambda run: (run / "dialogues/facts.jsonl").unlink(),
    "a file more": lambda run: (run / "dialogues/blind.jsonl").write_text(""),
    "a file by another name": lambda run: (run / "dialogues/facts.jsonl").rename(run / "dialogues/blind.jsonl"),
    "another config": lambda run: (run / "config.yaml").write_text("name: other\n"),
    "a dataset less": lambda run: rmtree(run / "datasets"),
    "weights of another size": lambda run: next(run.rglob("*.safetensors")).write_text("more weights"),
    "no record": lambda run: finished_path(run).unlink(),
    "a torn record": lambda run: finished_path(run).write_text('{"train": "'),
    "a record of something else": lambda run: finished_path(run).write_text("[]"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_stage_was_made_from_or_made_has_it_gone_through_again(run, change):
    assert there(run)
    CHANGES[change](run)
    assert not there(run)
    finish(run, "train", state(run))
    assert there(run)


def test_what_the_stage_has_no_part_in_changes_nothing(run):
    (run / "results/facts/seed-1.jsonl").write_text("[]\n")
    (run / "dialogues/.facts.jsonl.1a2b.tmp").write_text("left by a kill")
    (run / "dialogues/facts.jsonl").touch()
    finish(run, "compare", "another stage")
    assert there(run) and not is_finished(run, "eval", lambda: state(run))


def test_another_version_of_a_package_or_another_line_of_code_finishes_nothing(run, monkeypatch, tmp_path):
    before, version = code(), metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "999" if name == "numpy" else version(name))
    code.cache_clear()
    assert code() != before and not there(run)
    monkeypatch.setattr(metadata, "version", version)
    code.cache_clear()
    assert code() == before and there(run)
    monkeypatch.setattr(finished, "file_hash", lambda file: "0" if file.name == "finished.py" else file_hash(file))
    code.cache_clear()
    assert code() != before
    monkeypatch.undo()
    code.cache_clear()

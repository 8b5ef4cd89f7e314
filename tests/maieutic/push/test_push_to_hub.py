"""What is pushed is read back, from a stand-in of the hub and from disk, by the libraries that people read it with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from datasets import load_dataset
from huggingface_hub import DatasetCard

from tests.hub import TOKEN, HubStandIn
from tests.maieutic.push.conftest import LONG
from tests.servers import serving

ROOT = Path(__file__).parents[3]
READ_BACK = """
import hashlib, json, sys
import torch
from datasets import load_dataset
from peft import PeftModel
from transformers import AutoModelForCausalLM

name = sys.argv[1]
rows = {config: load_dataset(name, config, split="train") for config in ("facts", "facts-prompt_completion", "blind")}
base = AutoModelForCausalLM.from_pretrained(name, subfolder="warmup/base")
student = PeftModel.from_pretrained(base, name, subfolder="facts/seed-1")
with torch.inference_mode():
    score = student(input_ids=torch.tensor([[5, 6, 7]])).logits.sum().item()
texts = [message["content"] for row in rows["facts"] for message in row["messages"]]
print(json.dumps({
    "columns": {config: table.column_names for config, table in rows.items()},
    "texts": [hashlib.sha256(text.encode()).hexdigest() for text in texts],
    "score": score,
}))
"""


@contextmanager
def hub() -> Iterator[tuple[HubStandIn, dict[str, str]]]:
    """The stand-in, and the environment of a process that takes it for the hub."""
    one = HubStandIn()
    with serving(one.application()) as address:
        asked = {"HF_ENDPOINT": address.removesuffix("/v1"), "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0"}
        yield one, os.environ | asked | {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


def push(environment: dict[str, str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "maieutic", "push", *map(str, words)]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=200)


@pytest.mark.slow
def test_what_is_pushed_loads_from_the_hub_as_it_lies_in_the_run(finished, tmp_path):
    with hub() as (one, environment):
        pushed = push(environment, finished, "me/small")
        assert pushed.returncode == 0, pushed.stderr
        assert {key: held.private for key, held in one.repositories.items()} == {
            ("datasets", "me/small"): True, ("models", "me/small"): True,
        }  # fmt: skip
        again = push(environment, finished, "me/small")  # the same name takes a second version
        assert again.returncode == 0 and one.repositories["datasets", "me/small"].commits == 3
        for kind, folder in (("datasets", "dataset"), ("models", "model")):
            held, there = one.repositories[kind, "me/small"].files, finished / "push" / folder
            files = {str(file.relative_to(there)): file.read_bytes() for file in there.rglob("*") if file.is_file()}
            assert {path: content for path, content in held.items() if path != ".gitattributes"} == files
        read = subprocess.run(
            [sys.executable, "-c", READ_BACK, "me/small"], cwd=tmp_path, capture_output=True, text=True, timeout=250,
            env=environment | {"HF_HOME": str(tmp_path / "cache")},
        )  # fmt: skip
        assert read.returncode == 0, read.stderr[-2000:]
    _same_as_here(json.loads(read.stdout.splitlines()[-1]), finished)


def _same_as_here(read_back: dict, run: Path) -> None:
    """The rows, hashes of what was said, and a student's logits, of the run itself."""
    import hashlib

    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    card = (run / "push/dataset/README.md").read_text()
    for config in read_back["columns"]:
        assert read_back["columns"][config] and all(f"| `{name}` |" in card for name in read_back["columns"][config])
    here = load_dataset(
        "parquet", data_files=str(run / "datasets/facts/sft/train.parquet"), split="train", cache_dir=str(run / "cache")
    )
    said = [message["content"] for row in here for message in row["messages"]]
    assert read_back["texts"] == [hashlib.sha256(text.encode()).hexdigest() for text in said]
    assert any(LONG in text for text in said)
    base = AutoModelForCausalLM.from_pretrained(run / "warmup/base")
    student = PeftModel.from_pretrained(base, run / "adapters/facts/seed-1")
    with torch.inference_mode():
        score = student(input_ids=torch.tensor([[5, 6, 7]])).logits.sum().item()
    assert score == pytest.approx(read_back["score"], abs=1e-4)


@pytest.mark.slow
def test_a_dry_run_sends_nothing_and_its_folder_loads_with_the_columns_of_its_card(finished, tmp_path):
    with hub() as (one, environment):
        dry = push(environment, finished, "me/small", "--dry-run")
        assert dry.returncode == 0 and "nothing was sent" in dry.stdout and not one.repositories
    folder = finished / "push/dataset"
    for config in DatasetCard.load(folder / "README.md").data.configs:
        rows = load_dataset(str(folder), config["config_name"], split="train", cache_dir=str(tmp_path))
        card = (folder / "README.md").read_text()
        assert len(rows) and all(f"| `{name}` |" in card for name in rows.column_names)


@pytest.mark.slow
def test_nothing_public_or_of_others_is_written_to(finished):
    with hub() as (one, environment):
        made = push(environment | {"HF_TOKEN": "hf_of_nobody"}, finished, "me/small")
        assert made.returncode == 2 and "`hf auth whoami`" in made.stderr and not one.repositories
        assert push(environment, finished, "me/small", "--public").returncode == 0
        assert not one.repositories["models", "me/small"].private
        open_ = push(environment, finished, "me/small")
        assert open_.returncode == 2 and "is public already" in open_.stderr
        one.repositories["datasets", "me/small"].files = {"README.md": b"", "mine.csv": b"a,b"}
        others = push(environment, finished, "me/small", "--public")
        assert others.returncode == 2 and "holds other things (README.md, mine.csv)" in others.stderr
    gone = push(environment, finished, "me/small")
    assert gone.returncode == 2 and "not reached" in gone.stderr


@pytest.mark.slow
def test_cards_are_short_and_hold_no_place_of_this_machine_and_no_text_that_acts(finished):
    for file in (finished / "push").rglob("*"):
        if file.suffix not in (".md", ".yaml", ".json"):
            continue
        text = file.read_text()
        assert str(finished) not in text and str(ROOT) not in text and len(text) < 200_000
        assert not {"\x1b", "\u202e", "\u2028"} & {*text}
    assert yaml.safe_load((finished / "push/model/config.yaml").read_text())["out"] == ""
    card = (finished / "push/model/facts/seed-1/README.md").read_text()
    for said in ("base_model: embedded", "- me/small", "| `ask_skill` |", "## Limits", "subfolder='warmup/base'"):
        assert said in card

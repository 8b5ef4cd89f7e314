"""What is pushed is read back, from a stand-in of the hub and from disk, by the libraries that people read it with."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml
from click.testing import Result
from datasets import load_dataset
from huggingface_hub import DatasetCard, HfApi, constants
from peft import PeftModel
from transformers import AutoModelForCausalLM
from typer.testing import CliRunner

from maieutic.cli import app
from tests.hub import TOKEN, HubStandIn
from tests.maieutic.push.conftest import LONG
from tests.servers import serving

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # warnings of an upload's own
ROOT = Path(__file__).parents[3]
CONFIGS = ("facts", "facts-prompt_completion", "blind")
READ_BACK = """
import hashlib, json, sys
import torch
from datasets import load_dataset
from peft import PeftModel
from transformers import AutoModelForCausalLM

name, *configs = sys.argv[1:]
rows = {config: load_dataset(name, config, split="train") for config in configs}
base = AutoModelForCausalLM.from_pretrained(name, subfolder="warmup/base")
student = PeftModel.from_pretrained(base, name, subfolder="facts/seed-1")
with torch.inference_mode():
    score = student(input_ids=torch.tensor([[5, 6, 7]])).logits.sum().item()
texts = [message["content"] for row in rows["facts"] for message in row["messages"]]
columns = {config: table.column_names for config, table in rows.items()}
print(json.dumps([columns, [hashlib.sha256(text.encode()).hexdigest() for text in texts], score]))
"""


class Hub(NamedTuple):
    stand_in: HubStandIn
    address: str

    def push(self, *words: str | Path) -> Result:
        return CliRunner().invoke(app, ["push", *map(str, words)])


@pytest.fixture
def hub(monkeypatch) -> Iterator[Hub]:
    """The stand-in, which this process takes for the hub."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    stand_in = HubStandIn()
    with serving(stand_in.application()) as served:
        address = served.removesuffix("/v1")
        monkeypatch.setattr("maieutic.push.hub.HfApi", partial(HfApi, endpoint=address, token=TOKEN))
        yield Hub(stand_in, address)


def test_what_is_pushed_loads_from_the_hub_as_it_lies_in_the_run(finished, tmp_path, hub):
    held = hub.stand_in.repositories
    for version in (2, 3):  # the same name takes a second version; a repository begins with a commit
        pushed = hub.push(finished, "me/small")
        assert pushed.exit_code == 0, pushed.output
        assert [held[kind, "me/small"].commits for kind in ("datasets", "models")] == [version, version]
    assert all(one.private for one in held.values()) and len(held) == 2
    for kind, folder in (("datasets", "dataset"), ("models", "model")):
        there = finished / "push" / folder
        files = {str(file.relative_to(there)): file.read_bytes() for file in there.rglob("*") if file.is_file()}
        assert held[kind, "me/small"].files == files | {".gitattributes": b""}
    columns, said, score = _read_back(hub.address, tmp_path)
    card = (finished / "push/dataset/README.md").read_text()
    assert all(columns.values()) and not [
        name for names in columns.values() for name in names if f"| `{name}` |" not in card
    ]
    here = _rows(finished / "datasets/facts/sft/train.parquet", tmp_path)
    texts = [message["content"] for row in here for message in row["messages"]]
    assert said == [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    assert any(LONG in text for text in texts)
    base = AutoModelForCausalLM.from_pretrained(finished / "warmup/base")
    student = PeftModel.from_pretrained(base, finished / "adapters/facts/seed-1")
    with torch.inference_mode():
        assert score == pytest.approx(student(input_ids=torch.tensor([[5, 6, 7]])).logits.sum().item(), abs=1e-4)


def _read_back(address: str, tmp_path: Path) -> tuple[dict[str, list[str]], list[str], float]:
    """Columns by config, hashes of what `facts` says, and a student's logits, as another process reads them."""
    own = {"HF_ENDPOINT": address, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "cache")}
    own |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    command = [sys.executable, "-c", READ_BACK, "me/small", *CONFIGS]
    read = subprocess.run(command, cwd=tmp_path, env=os.environ | own, capture_output=True, text=True)
    assert read.returncode == 0, read.stderr[-3000:]
    columns, said, score = json.loads(read.stdout.splitlines()[-1])
    return columns, said, score


def _rows(file: Path, cache: Path) -> Any:
    return load_dataset("parquet", data_files=str(file), split="train", cache_dir=str(cache))


def test_a_dry_run_sends_nothing_and_its_folder_loads_with_the_columns_of_its_card(finished, tmp_path, hub):
    dry = hub.push(finished, "me/small", "--dry-run")
    assert dry.exit_code == 0 and "nothing was sent" in dry.output and not hub.stand_in.repositories
    folder = finished / "push/dataset"
    card = DatasetCard.load(folder / "README.md")
    assert sorted(config["config_name"] for config in card.data.configs) == sorted(CONFIGS)
    for name in CONFIGS:
        rows = load_dataset(str(folder), name, split="train", cache_dir=str(tmp_path))
        assert len(rows) and all(f"| `{column}` |" in card.text for column in rows.column_names)


def test_cards_have_an_end_and_hold_no_place_of_this_machine_and_no_text_that_acts(finished, hub):
    hub.push(finished, "me/small", "--dry-run")
    for file in (each for each in (finished / "push").rglob("*") if each.suffix in (".md", ".yaml", ".json")):
        text = file.read_text()
        assert str(finished) not in text and str(ROOT) not in text and len(text) < 200_000
        assert not {"\x1b", "\u202e", "\u2028"} & {*text} and (file.suffix != ".md" or "\n<script>" not in text)
    assert yaml.safe_load((finished / "push/model/config.yaml").read_text())["out"] == ""
    card = (finished / "push/model/facts/seed-1/README.md").read_text()
    for said in ("base_model: embedded", "- me/small", "| `ask_skill` |", "## Limits", "subfolder='warmup/base'"):
        assert said in card
    assert "- `blind`: no student" in (finished / "push/model/README.md").read_text()


def test_figures_of_a_report_that_is_not_of_what_is_there_are_not_passed_on(finished, hub):
    report = finished / "report.md"
    text = report.read_text()
    report.write_text(text + "mine\n")
    stale = hub.push(finished, "me/small", "--dry-run")
    report.write_text(text)
    assert stale.exit_code and "is not of what is there now" in " ".join(stale.output.split())


def test_nothing_public_or_of_others_is_written_to(finished, hub):
    held = hub.stand_in.repositories
    assert hub.push(finished, "me/small", "--public").exit_code == 0 and not held["models", "me/small"].private
    held["models", "me/small"].private = True
    closed = hub.push(finished, "me/small", "--public")
    assert closed.exit_code == 2 and "is private, and stays so" in closed.output
    held["models", "me/small"].private = False
    open_ = hub.push(finished, "me/small")
    assert open_.exit_code == 2 and "is public already" in open_.output
    held["datasets", "me/small"].files = {"README.md": b"", "config.yaml": b"", "mine.csv": b"a,b"}
    others = hub.push(finished, "me/small", "--public")
    assert others.exit_code == 2 and "holds other things (README.md, config.yaml, mine.csv)" in others.output


def test_a_refusal_of_one_kind_leaves_no_repository_of_another(finished, hub):
    hub.stand_in.repositories.clear()
    assert hub.push(finished, "me/small").exit_code == 0
    held = hub.stand_in.repositories
    del held["datasets", "me/small"]
    held["models", "me/small"].files = {"mine.bin": b"x"}
    assert hub.push(finished, "me/small").exit_code == 2 and list(held) == [("models", "me/small")]


def test_a_hub_that_refuses_or_is_away_is_told_in_words(finished, hub, monkeypatch):
    monkeypatch.setattr("maieutic.push.hub.HfApi", partial(HfApi, endpoint=hub.address, token="hf_of_nobody"))
    refused = hub.push(finished, "me/small")
    assert refused.exit_code == 2 and "`hf auth whoami`" in refused.output and not hub.stand_in.repositories
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    away = hub.push(finished, "me/small")
    assert away.exit_code == 2 and "not reached" in away.output

"""A run's dialogues are all made with the same prompts, weights and readers, or it goes no further."""

from __future__ import annotations

import asyncio
import shutil
from functools import partial
from pathlib import Path

import pytest

from pipeline.building.rounds import build_round
from pipeline.core.errors import RunError
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue
from pipeline.prompts.prompts import TEMPLATES
from pipeline.runs.directory import claim, label
from pipeline.runs.made_with import require_alike
from pipeline.runs.shards import Shard, merge
from pipeline.runs.store import read
from tests.builders import small_experiment

experiment = partial(small_experiment, seeds=[1], tasks={"train": {"underspecified": 6}, "exam": {"full": 1}})


def build(exp: Experiment, shard: Shard | None = None) -> None:
    asyncio.run(build_round(exp, ["facts"], 0, shard))


def of_own_prompts(run: Path, folder: Path) -> Experiment:
    folder.mkdir()
    shutil.copy(TEMPLATES / "chat" / "student.j2", folder)
    return experiment(run, student={"prompts": str(folder)})


def test_a_build_does_not_go_on_in_other_words_than_it_began_with(tmp_path: Path) -> None:
    exp = of_own_prompts(tmp_path / "run", tmp_path / "prompts")
    build(exp)
    template = tmp_path / "prompts" / "student.j2"
    before = template.read_text()
    template.write_text(before.replace("You take turns", "You speak in turn"))
    with pytest.raises(RunError, match=r"conditions\.facts: .*facts\.jsonl was made with other prompts"):
        build(exp)
    template.write_text(before)
    build(exp)
    assert len(list(read(exp.run / "dialogues/facts.jsonl", Dialogue))) == 6


def test_a_base_that_ends_its_turns_otherwise_is_another_one(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "generation_config.json").write_text("{}")
    exp = experiment(tmp_path / "run", student={"model": str(base)})
    build(exp)
    (base / "generation_config.json").write_text('{"eos_token_id": 2}')
    with pytest.raises(RunError, match="tokenizer or readers than are there now"):
        build(exp)


def test_a_shard_is_not_played_in_other_words_than_the_run_holds(tmp_path: Path) -> None:
    exp = of_own_prompts(tmp_path / "run", tmp_path / "prompts")
    build(exp)
    template = tmp_path / "prompts" / "student.j2"
    template.write_text(template.read_text().replace("You take turns", "You speak in turn"))
    with pytest.raises(RunError, match="than are there now"):
        build(exp, Shard(1, 2))
    assert not (Shard(1, 2).folder(exp.run) / "dialogues/facts.jsonl").exists()


def test_a_config_of_which_nothing_was_played_can_still_be_replaced(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    claim(exp)
    require_alike(Cell(exp, "facts", 1), exp.run)
    claim(exp.model_copy(update={"dialogue": exp.dialogue.model_copy(update={"turns": 1})}))


def test_a_run_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    build(exp)
    (tmp_path / "dialogues/facts.made_with").unlink()
    build(exp)
    assert (tmp_path / "dialogues/facts.made_with").is_file()


def test_no_shard_is_taken_in_that_was_made_in_other_words(tmp_path: Path) -> None:
    exp, shard = of_own_prompts(tmp_path / "run", tmp_path / "prompts"), Shard(1, 2)
    label(exp, exp.run)
    build(exp, shard)
    build(exp)
    made = shard.folder(exp.run) / "dialogues/facts.made_with"
    ours = made.read_text()
    made.write_text("other")
    with pytest.raises(RunError, match="a student would learn from both kinds"):
        merge(exp)
    made.write_text(ours)
    assert merge(exp) == 0  # the whole build had made them all

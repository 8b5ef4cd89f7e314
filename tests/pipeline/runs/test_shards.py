"""Shards: the same dialogues as one build makes, none missing, none twice, however they are cut."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.building.build import Counts, build, planned_dialogues
from pipeline.building.rounds import build_round
from pipeline.core.errors import ConfigError, RunError
from pipeline.core.schema import Message
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, EngineError, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.directory import claim, label
from pipeline.runs.lock import writing
from pipeline.runs.shards import Shard, merge
from pipeline.runs.store import read
from pipeline.runs.usage import Usage
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.parsing import BadRow
from tests.builders import small_experiment

experiment = partial(
    small_experiment,
    seeds=[1, 2],
    tasks={"train": {"full": 10, "underspecified": 10}, "exam": {"full": 2}},
    conditions={"facts": {"partition": "facts"}, "blind": {"partition": "symmetric"}},
)


def lines(exp: Experiment) -> list[str]:
    return sorted(
        line for name in exp.conditions for line in (exp.run / "dialogues" / f"{name}.jsonl").read_text().splitlines()
    )


def make(exp: Experiment, shard: Shard | None = None) -> None:
    asyncio.run(build_round(exp, list(exp.conditions), 0, shard))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    exp = experiment(tmp_path_factory.mktemp("whole"))
    make(exp)
    return lines(exp)


@pytest.mark.parametrize("cuts", [[(1, 1)], [(1, 3), (2, 3), (3, 3)], [(1, 2), (2, 3)], [(2, 2)]])
def test_shards_however_they_are_cut_and_a_last_build_make_what_one_build_makes(
    tmp_path: Path, whole: list[str], cuts: list[tuple[int, int]]
) -> None:
    exp = experiment(tmp_path)
    for cut in cuts:
        make(exp, Shard(*cut))
    made = merge(exp)
    assert made == len(lines(exp)) and not (exp.run / "shards").exists()
    make(exp)
    assert lines(exp) == whole


@given(st.integers(1, 50), st.text("0123456789abcdef", min_size=16, max_size=16))
def test_every_id_belongs_to_one_shard(of: int, id: str) -> None:
    assert sum(Shard(number, of).takes(id) for number in range(1, of + 1)) == 1


def test_a_shard_made_again_makes_nothing_nor_what_the_run_has(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    for _ in range(2):
        made = asyncio.run(build_round(exp, ["facts"], 0, Shard(1, 2)))
    assert all(each.counts.made == 0 and each.counts.skipped > 0 for each in made)
    make(exp)
    made = asyncio.run(build_round(exp, ["facts"], 0, Shard(2, 2)))
    assert all(each.counts.made == 0 for each in made)


def test_a_merge_killed_before_the_shard_was_removed_doubles_nothing(tmp_path: Path, whole: list[str]) -> None:
    exp = experiment(tmp_path)
    make(exp, Shard(1, 2))
    kept = tmp_path.parent / f"{tmp_path.name}-kept"
    shutil.copytree(exp.run / "shards", kept)
    merge(exp)
    shutil.copytree(kept, exp.run / "shards")
    assert merge(exp) == 0
    assert len({usage.id for usage in read(exp.run / "usage.jsonl", Usage)}) == 4
    assert len(list(read(exp.run / "usage.jsonl", Usage))) == 4
    make(exp)
    assert lines(exp) == whole


class Down(ScriptedModel):
    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        raise EngineError("out of order")


def test_where_one_shard_failed_at_what_another_made_the_dialogue_stands(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    tasks, _ = load_tasks(exp.tasks, "train")
    bad = [BadRow("tasks.jsonl:7", "the answer is empty")]

    def play(model: ScriptedModel, shard: Shard | None) -> Counts:
        if shard:
            label(exp, shard.folder(exp.run))
        return asyncio.run(build(Cell(exp, "facts", 1), tasks, bad, Cast(model), lambda: None, shard))

    assert play(Down(), None).failed == 20  # the whole run, with the bad row
    made = play(ScriptedModel(), Shard(1, 2)).made
    failed = play(Down(), Shard(2, 2)).failed + play(Down(), Shard(2, 4)).failed
    assert made + failed > 20
    merge(exp)
    failures = list(read(exp.run / "failures.jsonl", Failure))
    dialogues = [dialogue.id for dialogue in read(exp.run / "dialogues" / "facts.jsonl", Dialogue)]
    assert len(dialogues) == made
    assert sorted([*dialogues, *(f.id for f in failures if f.kind != "bad_task")]) == sorted(
        job.id for job in planned_dialogues(Cell(exp, "facts", 1), tasks)
    )
    assert [f.task_id for f in failures if f.kind == "bad_task"] == ["tasks.jsonl:7"]


def _hold(folder: Path, held: multiprocessing.synchronize.Event, free: multiprocessing.synchronize.Event) -> None:
    with writing(folder):
        held.set()
        free.wait()


def test_a_shard_being_written_is_not_taken_in_and_shards_go_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.runs.shards.HELD", 0.0)
    exp = experiment(tmp_path)
    make(exp, Shard(1, 2))
    context = multiprocessing.get_context("spawn")
    held, free = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(Shard(1, 2).folder(exp.run), held, free))
    holder.start()
    held.wait()
    try:
        with pytest.raises(RunError, match=rf"process {holder.pid} is writing"):
            merge(exp)
        assert (Shard(1, 2).folder(exp.run) / "dialogues" / "facts.jsonl").exists()
        refused = pytest.raises(RunError, match="is writing to this run")
        with writing(exp.run, shared=True), writing(exp.run, shared=True), refused, writing(exp.run):
            raise AssertionError
    finally:
        free.set()
        holder.join()


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_what_is_no_shard_is_refused_in_words(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--shard .*expected NUMBER/OF"):
        Shard.parse(text)


def test_a_shard_of_another_config_is_refused_before_the_first_has_made_anything(tmp_path: Path) -> None:
    first = experiment(tmp_path)
    other = first.model_copy(update={"dialogue": first.dialogue.model_copy(update={"temperature": 0.3})})
    tmp_path.mkdir(exist_ok=True)
    claim(first, shared=True)
    with pytest.raises(RunError, match=r"dialogue\.temperature: there 1\.0, asked for 0\.3"):
        claim(other, shared=True)
    claim(first, shared=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml"]
    claim(other)  # nothing was made, and nobody else is here
    with pytest.raises(RunError):
        claim(first, shared=True)


def test_shards_of_another_experiment_or_of_none_are_refused_and_nothing_is_taken_in(tmp_path: Path) -> None:
    ours, other = experiment(tmp_path / "ours"), experiment(tmp_path / "other")
    other = other.model_copy(update={"dialogue": other.dialogue.model_copy(update={"turns": 1})})
    make(ours, Shard(1, 2))
    make(other, Shard(2, 2))
    shutil.copytree(other.run / "shards", ours.run / "shards", dirs_exist_ok=True)
    with pytest.raises(RunError, match=r"2-of-2: not a shard of this experiment\.\n  dialogue\.turns: there 1"):
        merge(ours)
    (ours.run / "shards/2-of-2/config.yaml").unlink()
    with pytest.raises(RunError, match="it has no config"):
        merge(ours)
    assert not (ours.run / "dialogues").exists()
    shutil.rmtree(ours.run / "shards/2-of-2")
    assert merge(ours) > 0


def test_a_merge_killed_while_a_shard_was_removed_removes_it_later(tmp_path: Path) -> None:
    exp = experiment(tmp_path)
    make(exp, Shard(1, 2))
    left = exp.run / "shards/.1-of-2.taken"
    shutil.copytree(exp.run / "shards/1-of-2", left)
    (left / "config.yaml").unlink()
    (exp.run / "shards/1-of-3").touch()  # a stray file
    assert merge(exp) > 0
    assert [path.name for path in (exp.run / "shards").iterdir()] == ["1-of-3"]

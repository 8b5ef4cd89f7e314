"""One round of an experiment: which conditions can be made together, what they wait for, and their dialogues.

maieutic build configs/quickstart.yaml
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline.building.build import Counts, build, finished, jobs
from pipeline.building.human_dialogues import adopt
from pipeline.building.memory import cell, recall, remember
from pipeline.building.turn_values import branch_out, has_ledger, wanted
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.engines.model import EngineDown, EngineError
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE
from pipeline.knowledge.records import Failure
from pipeline.runs import directory
from pipeline.runs.directory import newest_adapter
from pipeline.runs.progress import say, stage
from pipeline.runs.shards import Shard
from pipeline.runs.store import read
from pipeline.sandbox.checks import can_run
from pipeline.tasks.loading import load_dialogues, stream_tasks


class Made(NamedTuple):
    """What one call made of one condition and seed."""

    condition_name: str
    seed: int
    counts: Counts


def groups(experiment: Experiment) -> list[list[str]]:
    """Conditions that can be made together: one whose partner is another's student waits for that student."""
    found: list[list[str]] = [[]]
    for name, condition in experiment.conditions.items():
        if condition.weights in found[-1]:
            found.append([])
        found[-1].append(name)
    return found


def _speaking(experiment: Experiment, group: list[str]) -> list[str]:
    """Those of a group that have dialogues of their own to be built."""
    condition = experiment.conditions
    return [name for name in group if not condition[name].learns_from and condition[name].method not in ONLINE]


def waits(experiment: Experiment, group: list[str], round: int) -> bool:
    """Whether this round needs students that are not trained yet; it is said which."""
    needed = set()
    for name, seed in itertools.product(group, experiment.seeds):
        weights = experiment.conditions[name].weights
        if round and newest_adapter(experiment, name, seed, round - 1) is None:
            needed.add(name)
        if weights in experiment.conditions and not newest_adapter(experiment, weights, seed, experiment.rounds - 1):
            needed.add(weights)
    if needed:
        say(
            f"round {round + 1} of {', '.join(group)} waits for the training of {', '.join(sorted(needed))}. "
            "`maieutic run` trains as it goes."
        )
    return bool(needed)


async def build_round(experiment: Experiment, group: list[str], round: int, shard: Shard | None = None) -> list[Made]:
    """Dialogues of one round, for every condition of the group and every seed, or a shard of them.

    Raises ConfigError where the source has no task.
    """
    can_run(experiment.has_code)
    if shard:
        directory.label(experiment, shard.folder(experiment.run))
    tasks, bad = stream_tasks(experiment.tasks, "train")
    if not tasks:
        raise ConfigError(
            f"tasks.train: the source {experiment.tasks.source!r} gave no task ({len(bad)} rows cannot be used"
            + (f"; the first: {bad[0].where}: {bad[0].message}). " if bad else "). ")
            + "Expected counts per specification, such as {full: 300}, and a file with usable rows."
        )
    wanted = sum(sum(settings.train.values()) for settings in experiment.tasks.sources)
    if len(tasks) < wanted and experiment.tasks.source != "mathdial":
        say(f"tasks: {wanted} were asked for, the source has {len(tasks)} on its training questions")
    unusable = f", {len(bad)} rows that cannot be used, in failures.jsonl" if bad else ""
    say(f"tasks: {len(tasks)} to train on{unusable}")
    casting = Casting(experiment, partial(newest_adapter, experiment))
    casting.announce(itertools.product(group, experiment.seeds), round - 1)
    made = []
    for name, seed in itertools.product(_speaking(experiment, group), experiment.seeds):
        label = f"build {name} seed {seed}" + (f" round {round + 1}" if experiment.rounds > 1 else "")
        condition, hits = experiment.conditions[name], ""
        if condition.voice == "human":
            if shard:
                say(f"{label}: human dialogues are taken in by the whole build")
                continue
            counts = adopt(experiment, *load_dialogues(experiment.tasks, name, condition, seed), name, seed)
        else:
            if shard and condition.memory != "none":
                say(f"{label}: what it remembers is not whole before all shards are, it is left to the whole build")
                continue
            folder = shard.folder(experiment.run) if shard else experiment.run
            left, played = _missing(experiment, tasks, name, seed, round, shard), tasks
            if left and condition.memory != "none":
                await _remember(experiment, condition.remembers, seed, round, casting)
                played = recall(experiment, name, seed, round, tasks)
            with stage(label, left) as progress:
                cast = casting.cast(name, seed, round)
                try:
                    counts = await build(experiment, played, bad, name, seed, round, cast, progress, shard)
                finally:
                    hits = casting.meter.store(folder, experiment.engine.kind, "build", name, seed, round)
        say(f"{label}: {counts}{hits}")
        if counts.failed and not shard:
            say_failures(experiment, name, seed, round)
        if counts.failed and not counts.made + counts.skipped:
            _check_engine(folder, name, seed, round)
        made.append(Made(name, seed, counts))
    return made


async def _remember(experiment: Experiment, name: str, seed: int, round: int, casting: Casting) -> None:
    """Make what is missing of the memories of one cell."""
    label = f"memory {name} seed {seed}" + (f" round {round + 1}" if experiment.rounds > 1 else "")
    with stage(label, sum(1 for _ in cell(experiment, name, seed, round))) as progress:
        writer = casting.open(experiment.partner.model or experiment.student.model)
        try:
            counts = await remember(experiment, name, seed, round, writer, progress)
        finally:
            hits = casting.meter.store(experiment.run, experiment.engine.kind, "memory", name, seed, round)
    say(f"{label}: {counts.made} memories, {counts.failed} failures, {counts.skipped} there already{hits}")
    files = experiment.run / "failures.jsonl", experiment.run / "memory" / "failures.jsonl"
    failures = [failure for file in files for failure in read(file, Failure) if failure.kind == "engine_error"]
    wanting = [f for f in failures if (f.condition_name, f.seed, f.round) == (name, seed, round)]
    if wanting:
        raise EngineError(
            f"{len(wanting)} dialogues or lessons of {name!r}, seed {seed}, ended in an engine error (the last: "
            f"{wanting[-1].message}), and others are to remember all of them. The same command tries them again."
        )


async def branch_round(experiment: Experiment, group: list[str], round: int) -> None:
    """The turn-value ledger of one round, where the config asks for one."""
    casting = Casting(experiment, partial(newest_adapter, experiment))
    casting.announce(itertools.product(group, experiment.seeds), round - 1)
    for name, seed in itertools.product(_speaking(experiment, group), experiment.seeds):
        if not has_ledger(experiment, name):
            continue
        label = f"ledger {name} seed {seed}" + (f" round {round + 1}" if experiment.rounds > 1 else "")
        with stage(label, sum(1 for _ in wanted(experiment, name, seed, round))) as progress:
            try:
                counts = await branch_out(experiment, name, seed, round, casting.cast(name, seed, round), progress)
            finally:
                hits = casting.meter.store(experiment.run, experiment.engine.kind, "ledger", name, seed, round)
        say(f"{label}: {counts.made} branches, {counts.failed} failures, {counts.skipped} there already{hits}")


def missing(experiment: Experiment, group: list[str], round: int) -> int:
    """How many dialogues of a round are still to be made."""
    tasks, _ = stream_tasks(experiment.tasks, "train")
    cells = itertools.product(_speaking(experiment, group), experiment.seeds)
    return sum(_missing(experiment, tasks, name, seed, round, None) for name, seed in cells)


def _missing(
    experiment: Experiment, tasks: Collection[Task], name: str, seed: int, round: int, shard: Shard | None
) -> int:
    ended = finished(experiment.run, name, shard)
    mine = (job.id for job in jobs(experiment, tasks, name, seed, round) if not shard or shard.takes(job.id))
    return sum(id not in ended for id in mine)


def _check_engine(folder: Path, name: str, seed: int, round: int) -> None:
    """Raises EngineDown where nothing came of a cell but errors of the engine: others would fare no better."""
    failures = read(folder / "failures.jsonl", Failure)
    mine = [f for f in failures if (f.condition_name, f.seed, f.round) == (name, seed, round) and f.kind != "bad_task"]
    if mine and all(failure.kind == "engine_error" for failure in mine):
        raise EngineDown(
            f"Not one of {len(mine)} dialogues could be played, the engine failed at all of them; the last: "
            f"{mine[-1].message}. Mend that; the same command tries them again."
        )


def say_failures(experiment: Experiment, name: str, seed: int, round: int) -> None:
    """What went wrong in one cell, by kind."""
    every = read(experiment.run / "failures.jsonl", Failure)
    found = [
        failure for failure in every if (failure.condition_name, failure.seed, failure.round) == (name, seed, round)
    ]
    if not found:
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(failure.kind for failure in found).items())
    say(f"  failures.jsonl: {kinds}; the last: {found[-1].message}")
    if any(failure.kind == "engine_error" for failure in found):
        say("  Engine errors are tried again by the same command.")


def whole_before_others(experiment: Experiment, group: list[str], round: int) -> None:
    """Raises EngineError where others would learn from these students, and dialogues of theirs are to be made again."""
    partners = {condition.weights for condition in experiment.conditions.values()}
    followed = {name for name in group if name in partners or round + 1 < experiment.rounds}
    failures = read(experiment.run / "failures.jsonl", Failure)
    open_ = sum(f.kind == "engine_error" and f.condition_name in followed and f.round == round for f in failures)
    if open_:
        raise EngineError(
            f"{open_} dialogues of round {round + 1} ended in an engine error, and what comes next builds on their "
            "students: training waits for them. The same command tries them again."
        )


def unfinished(experiment: Experiment) -> int:
    """Dialogues, and those of the ledger, that ended in an engine error: they are tried again."""
    files = (experiment.run / "failures.jsonl", experiment.run / "ledger" / "failures.jsonl")
    return sum(failure.kind == "engine_error" for file in files for failure in read(file, Failure))


def shard_of(experiment: Experiment, text: str) -> Shard:
    """The part that `text`, such as 2/4, names. Raises ConfigError."""
    if experiment.executor == "ray":
        raise ConfigError(f"--shard {text}: with executor: ray the workers are the shards. Leave out one of the two.")
    return Shard.parse(text)


def build_shard(experiment: Experiment, shard: Shard) -> Path:
    """Make one part of every round; returns its folder."""
    folder = shard.folder(experiment.run)
    with directory.writing(folder):
        for group in groups(experiment):
            for round in range(experiment.rounds):
                if waits(experiment, group, round):
                    break
                asyncio.run(build_round(experiment, group, round, shard))
    say("When all shards have ended, the same command without --shard takes them in.")
    return folder

"""One round of an experiment: which conditions can be made together, what they wait for, and their dialogues.

maieutic build configs/quickstart.yaml
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.building.build import build, finished, planned_dialogues
from pipeline.building.event_loop import run
from pipeline.building.failures import check_engine, failures_of, say_failures
from pipeline.building.human_dialogues import adopt
from pipeline.building.make_missing import Counts
from pipeline.building.memory import missing_memories, recall, remember, remembered
from pipeline.building.soundness import FIRST, Watch, watch_of
from pipeline.building.turn_values import has_turn_values, missing_branches, play_branches
from pipeline.core.errors import ConfigError, RunError
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import EngineError
from pipeline.experiment.assignment import plays_all
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.runs import directory
from pipeline.runs.dialogue_pool import dialogues_of
from pipeline.runs.directory import is_trained, newest_adapter, untrained_path
from pipeline.runs.lock import writing
from pipeline.runs.made_with import require_alike
from pipeline.runs.progress import say, stage
from pipeline.runs.shards import Shard
from pipeline.sandbox.checks import can_run
from pipeline.tasks.loading import load_dialogues, no_task, stream_tasks
from pipeline.tasks.parsing import BadRow

Look = Callable[[Experiment, Casting, Collection[Task]], Awaitable[None]]


class Made(NamedTuple):
    """What one call made of one cell."""

    cell: Cell
    counts: Counts


def groups(experiment: Experiment) -> list[list[str]]:
    """Conditions that can be made together: one in which another's student speaks waits for that student."""
    grouped: list[list[str]] = [[]]
    for name, condition in experiment.conditions.items():
        if condition.speakers & {*grouped[-1]}:
            grouped.append([])
        grouped[-1].append(name)
    return grouped


def due_rounds(experiment: Experiment) -> Iterator[tuple[list[str], int]]:
    """Each group with its rounds, up to the first that needs training; that is looked at when it comes to it."""
    for group in groups(experiment):
        for round in range(experiment.rounds):
            if needs_training_first(experiment, group, round):
                break
            yield group, round


def speaking(experiment: Experiment, group: list[str]) -> list[str]:
    """Those of a group that have dialogues of their own to be built."""
    return [name for name in group if experiment.conditions[name].has_dialogues]


def is_built(experiment: Experiment, group: list[str], round: int) -> bool:
    """Whether there are dialogues of this round, where the group has any of its own."""
    own = speaking(experiment, group)
    return not own or any(next(dialogues_of(cell), None) for cell in cells(experiment, own, round))


def left_by_shards(experiment: Experiment, group: list[str]) -> list[str]:
    """Those of a group that no shard makes: talk of people is read at once, and what is remembered must be whole."""
    conditions = experiment.conditions
    return [name for name in group if conditions[name].voice == "human" or conditions[name].memory != "none"]


def needs_training_first(experiment: Experiment, group: list[str], round: int) -> bool:
    """Whether this round needs students that are not trained yet; it is said which."""
    untrained = set[str]()
    for cell in cells(experiment, group, round):
        if round and not is_trained(cell.in_round(round - 1)):
            untrained.add(cell.condition_name)
        untrained |= {speaker.condition_name for speaker in _untrained_speakers(cell)}
    if untrained:
        say(
            f"round {round + 1} of {', '.join(group)} waits for the training of {', '.join(sorted(untrained))}. "
            "`maieutic run` trains as it goes."
        )
    return bool(untrained)


def require_speakers(experiment: Experiment, group: list[str]) -> None:
    """Raises RunError where another condition's student is to speak, and had nothing to learn from: the base would
    speak in its name."""
    for cell in cells(experiment, group, 0):
        for speaker in _untrained_speakers(cell):
            reason = untrained_path(speaker)
            why = reason.read_text(encoding="utf-8").strip() if reason.is_file() else "it has no adapter"
            raise RunError(
                f"conditions.{cell.condition_name}: {speaker.condition_name!r}, seed {cell.seed}, is to speak in its "
                f"dialogues and is untrained ({why}), so that the base would speak in its name. Give it more to learn "
                "from in another `out` (tasks.train, dialogue.per_task, training.gap), or leave this condition out"
            )


def _untrained_speakers(cell: Cell) -> Iterator[Cell]:
    """The other conditions whose students speak in a cell's dialogues, as far as they have no adapter."""
    for speaker in sorted(cell.condition.speakers & cell.experiment.conditions.keys()):
        trained = cell._replace(condition_name=speaker, round=cell.experiment.rounds - 1)
        if newest_adapter(trained) is None:
            yield trained


async def build_round(
    experiment: Experiment,
    group: list[str],
    round: int,
    shard: Shard | None = None,
    look: Look | None = None,
    built: Callable[[str], None] | None = None,
) -> list[Made]:
    """Dialogues of one round, for every condition of the group and every seed, or a shard of them.

    `look` comes before them, with the engines that they are made with; `built` is told of each condition once its
    dialogues are there, of all seeds. Raises ConfigError where the source has no task.
    """
    can_run(experiment.has_code)
    if shard:
        directory.label(experiment, shard.folder(experiment.run))
    tasks, bad = _tasks(experiment)
    casting = Casting(experiment, newest_adapter)
    casting.announce(cells(experiment, group, round - 1))
    if look:
        await look(experiment, casting, tasks)
    made = []
    for name in speaking(experiment, group):
        for cell in cells(experiment, [name], round):
            if shard and name in left_by_shards(experiment, group):
                say(f"{cell.label('build')}: talk of people, and what is remembered, are left to the whole build")
            else:
                made.append(Made(cell, await _build_cell(cell, casting, tasks, bad, shard)))
        if built:
            built(name)
    return made


def _tasks(experiment: Experiment) -> tuple[Collection[Task], list[BadRow]]:
    """What is trained on, and the rows that could not be read; it is said how many. Raises ConfigError without any."""
    tasks, bad = stream_tasks(experiment.tasks, "train")
    if not tasks:
        raise no_task(experiment.tasks, bad)
    asked_for = sum(sum(settings.train.values()) for settings in experiment.tasks.parts)
    if len(tasks) < asked_for and not experiment.source.dialogues:
        say(f"tasks: {asked_for} were asked for, the source has {len(tasks)} on its training questions")
    unusable = f", {len(bad)} rows that cannot be used, in failures.jsonl" if bad else ""
    say(f"tasks: {len(tasks)} to train on{unusable}")
    return tasks, bad


async def _build_cell(
    cell: Cell, casting: Casting, tasks: Collection[Task], bad: list[BadRow], shard: Shard | None
) -> Counts:
    """Make what is missing of one cell, and say what came of it. Raises EngineDown where nothing but errors did, and
    UnsoundPartner where a partner does not keep to its knowledge as `partner.sound` asks."""
    experiment, condition = cell.experiment, cell.condition
    folder = shard.folder(experiment.run) if shard else experiment.run
    cached = ""
    try:
        if condition.voice == "human":  # held once, whatever the round
            imported = load_dialogues(experiment.tasks, cell.condition_name, condition, cell.seed)
            counts = await adopt(cell.in_round(0), *imported, casting.reads)
        else:
            require_alike(cell, folder)
            left, there = _left(cell, tasks, shard)
            if left and condition.memory != "none":
                for source in remembered(cell):
                    await _remember(source, casting)
                tasks = recall(cell, tasks)
            cast = casting.cast(cell) if left else None  # opening an engine takes seconds to minutes
            watch = watch_of(cell, *dict.fromkeys((experiment.run, folder)))
            first = await _play_first(cell, tasks, bad, cast, shard, watch) if watch else 0
            with stage(cell.label("build"), _missing(cell, tasks, shard) if watch else left) as progress:
                try:
                    counts = await build(cell, tasks, bad, cast, progress, shard, watch, there=None if left else there)
                finally:  # while the stage runs: how long an answer takes is reckoned when it ends
                    cached = casting.meter.store(folder, "build", cell)
            # To the rest what ended among the first was there already, but for engine errors, which are tried again.
            made = first + counts.made
            counts = Counts(made, left - made, there)
    finally:
        cached = cached or casting.meter.store(folder, "build", cell)
    say(f"{cell.label('build')}: {counts}{cached}")
    if counts.failed and not shard:
        say_failures(cell)
    if counts.failed and not counts.made + counts.skipped:
        check_engine(folder, cell)
    return counts


async def _play_first(
    cell: Cell, tasks: Collection[Task], bad: list[BadRow], cast: Cast | None, shard: Shard | None, watch: Watch
) -> int:
    """Play so many dialogues by themselves that the partner can be looked at, and say how many. Raises
    UnsoundPartner."""
    watch.require()
    made = 0
    with stage(cell.label("soundness"), min(max(FIRST - watch.n, 0), _missing(cell, tasks, shard))) as progress:
        while watch.n < FIRST:  # in some of them no partner speaks
            counts = await build(cell, tasks, bad, cast, progress, shard, watch, FIRST - watch.n)
            if not counts.made:
                break
            made += counts.made
    say(f"{cell.label('soundness')}: {watch}")
    return made


async def _remember(cell: Cell, casting: Casting) -> None:
    """Make what is missing of the memories of one cell. Raises EngineError where some could not be made."""
    experiment, label, left = cell.experiment, cell.label("memory"), missing_memories(cell)
    with stage(label, left) as progress:
        writer = casting.open("partner") if left else None
        try:
            counts = await remember(cell, writer, progress)
        finally:
            cached = casting.meter.store(experiment.run, "memory", cell)
    say(f"{label}: {counts.made} memories, {counts.failed} failures, {counts.skipped} there already{cached}")
    failures = [*failures_of(experiment.run, cell), *failures_of(experiment.run / "memory", cell)]
    if wanting := [failure for failure in failures if failure.kind == "engine_error"]:
        raise EngineError(
            f"{len(wanting)} dialogues or lessons of {cell.condition_name!r}, seed {cell.seed}, ended in an engine "
            f"error (the last: {wanting[-1].message}), and others are to remember all of them. The same command tries "
            "them again."
        )


async def branch_round(experiment: Experiment, group: list[str], round: int) -> None:
    """What the values of one round's turns are read from, where the config asks for it."""
    casting = Casting(experiment, newest_adapter)
    casting.announce(cells(experiment, group, round - 1))
    names = [name for name in speaking(experiment, group) if has_turn_values(experiment, name)]
    for cell in cells(experiment, names, round):
        label, left = cell.label("turn values"), missing_branches(cell)
        with stage(label, left) as progress:
            try:
                counts = await play_branches(cell, casting.cast(cell) if left else None, progress)
            finally:
                cached = casting.meter.store(experiment.run, "turn_values", cell)
        say(f"{label}: {counts.made} branches, {counts.failed} failures, {counts.skipped} there already{cached}")


def missing(experiment: Experiment, group: list[str], round: int) -> int:
    """How many dialogues of a round are still to be made."""
    tasks, _ = stream_tasks(experiment.tasks, "train")
    return sum(_missing(cell, tasks, None) for cell in cells(experiment, speaking(experiment, group), round))


def _missing(cell: Cell, tasks: Collection[Task], shard: Shard | None) -> int:
    return _left(cell, tasks, shard)[0]


def _left(cell: Cell, tasks: Collection[Task], shard: Shard | None) -> tuple[int, int]:
    """How many dialogues of a cell are still to be made, and how many are there."""
    experiment, name = cell.experiment, cell.condition_name
    ended = finished(experiment.run, name, shard)
    if not ended and not shard and plays_all(experiment, name, tasks):  # a first build: no task need be made for it
        return len(tasks) * experiment.per_task(name), 0
    left, there = 0, 0
    for plan in planned_dialogues(cell, tasks):
        if not shard or shard.takes(plan.id):
            is_there = plan.id in ended
            left, there = left + (not is_there), there + is_there
    return left, there


def shard_of(experiment: Experiment, text: str) -> Shard:
    """The part that `text`, such as 2/4, names. Raises ConfigError."""
    if experiment.executor == "ray":
        raise ConfigError(f"--shard {text}: with executor: ray the workers are the shards. Leave out one of the two.")
    return Shard.parse(text)


def build_shard(experiment: Experiment, shard: Shard) -> Path:
    """Make one part of every round; returns its folder."""
    folder = shard.folder(experiment.run)
    with writing(folder):
        for group, round in due_rounds(experiment):
            run(build_round(experiment, group, round, shard))
    say("When all shards have ended, the same command without --shard takes them in.")
    return folder

"""Many dialogues: admission, resume, and the sum of what happened.

Every task of every condition ends as a dialogue or as a typed failure. A build that is started again
plays what is missing and nothing twice; failures of the engine are tried again, the others stand.

    maieutic build configs/quickstart.yaml
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.building.concurrency import Stopped, admit
from pipeline.core.errors import MaieuticError
from pipeline.core.schema import Task, digest
from pipeline.dialogue.episode import Cast, EmptyTurn, UnparsedScript, play
from pipeline.engines.model import ContextOverflow, EngineError
from pipeline.experiment.assignment import tasks_of
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import WRONG_KEY
from pipeline.knowledge.records import Dialogue, Failure, FailureKind
from pipeline.runs.shards import Shard
from pipeline.runs.store import Appender, read, rewrite
from pipeline.tasks.loading import BadRow


class NoWrongAnswer(MaieuticError, ValueError):
    """The partition needs a wrong answer for the task, and none could be made from its gold answer."""


FAILURES: dict[type[Exception], FailureKind] = {
    ContextOverflow: "context_overflow",
    EngineError: "engine_error",
    EmptyTurn: "empty_turn",
    UnparsedScript: "unparsed_script",
    NoWrongAnswer: "no_wrong_answer",
}


class Counts(NamedTuple):
    """Of one call of `build`: dialogues made, failures made, and what an earlier call had left ready."""

    made: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        return f"{self.made} dialogues, {self.failed} failures, {self.skipped} there already"


class Job(NamedTuple):
    """One dialogue to be made."""

    id: str
    task: Task
    condition_name: str
    seed: int
    round: int
    sample: int


def dialogue_id(experiment: Experiment, task_id: str, condition_name: str, seed: int, round: int, sample: int) -> str:
    """A hash of task, condition, seed and config."""
    condition = experiment.conditions[condition_name].shaping()
    particulars = experiment.particulars(condition_name)
    return digest(task_id, condition_name, condition, seed, round, sample, experiment.fingerprint(), *particulars)


def draws(experiment: Experiment, job: Job) -> str:
    """The key of a dialogue's random streams.

    Not named by condition: all conditions meet the same task with the same draws until their partners differ.
    """
    return digest(job.task.id, job.seed, job.round, job.sample, experiment.fingerprint())


def jobs(experiment: Experiment, tasks: Collection[Task], condition_name: str, seed: int, round: int) -> Iterator[Job]:
    """The dialogues that a condition asks for, in a fixed order."""
    for sample in range(experiment.per_task(condition_name)):
        for task in tasks_of(experiment, condition_name, tasks):
            name = dialogue_id(experiment, task.id, condition_name, seed, round, sample)
            yield Job(name, task, condition_name, seed, round, sample)


def finished(run: Path, condition_name: str, shard: Shard | None = None) -> set[str]:
    """Ids of a condition that need no more work: its dialogues, and its failures but those of the engine, in the
    run and in the shard."""
    ended: set[str] = set()
    for folder in (run, shard.folder(run)) if shard else (run,):
        ended.update(dialogue.id for dialogue in read(folder / "dialogues" / f"{condition_name}.jsonl", Dialogue))
        ended.update(f.id for f in read(folder / "failures.jsonl", Failure) if f.kind != "engine_error")
    return ended


def forget_engine_errors(run: Path, condition_name: str, seed: int, round: int) -> None:
    """Drop the engine's failures of one cell from failures.jsonl: they are about to be tried again."""
    failures = list(read(run / "failures.jsonl", Failure))
    cell = condition_name, seed, round
    standing = [f for f in failures if f.kind != "engine_error" or (f.condition_name, f.seed, f.round) != cell]
    if len(standing) != len(failures):
        rewrite(run / "failures.jsonl", standing)


async def build(
    experiment: Experiment,
    tasks: Collection[Task],
    bad: list[BadRow],
    condition_name: str,
    seed: int,
    round: int,
    cast: Cast,
    tick: Callable[[], None],
    shard: Shard | None = None,
) -> Counts:
    """Play what is missing of one condition, seed and round; `tick` is called at each dialogue's end.

    Of a shard what is missing of it alone, into its own files.

    At a first SIGINT or SIGTERM no more dialogues begin, and Stopped is raised when those under way have ended;
    a second one stops at once.
    """
    condition, folder = experiment.conditions[condition_name], shard.folder(experiment.run) if shard else experiment.run
    ended = finished(experiment.run, condition_name, shard)
    forget_engine_errors(folder, condition_name, seed, round)
    made = failed = skipped = 0

    def missing() -> Iterator[Job]:
        nonlocal skipped
        for job in jobs(experiment, tasks, condition_name, seed, round):
            if shard and not shard.takes(job.id):
                continue
            if job.id in ended:
                skipped += 1
            else:
                yield job

    with (
        Appender(folder / "dialogues" / f"{condition_name}.jsonl") as dialogues,
        Appender(folder / "failures.jsonl") as failures,
    ):
        for row in bad:
            failure = Failure(
                id=digest(row.where.rpartition("/")[2], condition_name, seed, round),
                task_id=row.where,
                condition_name=condition_name,
                seed=seed,
                round=round,
                kind="bad_task",
                message=row.message,
            )
            if failure.id not in ended and (shard is None or shard.takes(failure.id)):
                failures.append(failure)

        async def work(job: Job) -> None:
            nonlocal made, failed
            record = await play_job(experiment, condition, cast, job)
            if isinstance(record, Dialogue):
                dialogues.append(record)
                made += 1
            else:
                failures.append(record)
                failed += 1
            tick()

        at_a_time = 1 if experiment.dialogue.deterministic else experiment.dialogue.concurrency
        if await admit(missing(), work, at_a_time):
            raise Stopped(f"after {made + failed} more dialogues of {condition_name!r}, seed {seed}")
    return Counts(made, failed, skipped)


async def play_job(experiment: Experiment, condition: Condition, cast: Cast, job: Job) -> Dialogue | Failure:
    """One job's dialogue, or the failure that it ended in."""
    key = draws(experiment, job)
    try:
        if WRONG_KEY in (condition.row.partner or ()) and not job.task.wrong_answer:
            raise NoWrongAnswer(
                f"no wrong answer like {job.task.answer!r} could be made, and the partner would say one"
            )
        played = await play(job.task, condition, cast, experiment.dialogue, key)
    except tuple(FAILURES) as error:
        return Failure(
            id=job.id,
            task_id=job.task.id,
            condition_name=job.condition_name,
            seed=job.seed,
            round=job.round,
            kind=FAILURES[type(error)],
            message=str(error),
        )
    return Dialogue(
        id=job.id,
        task=job.task,
        condition_name=job.condition_name,
        condition=condition.shaped(),
        seed=job.seed,
        round=job.round,
        sample=job.sample,
        turns=played.turns,
        stop=played.stop,
        before=played.before,
        after=played.after,
        meta={"primed": list(played.primed)} if played.primed else {},
    )

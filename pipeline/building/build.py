"""Many dialogues: which ones a cell asks for, and those of them that are missing.

A build that is started again plays what is missing and nothing twice; failures of the engine are tried again, the
others stand.

    maieutic build configs/quickstart.yaml
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.building.failures import (
    TYPED,
    NoWrongAnswer,
    failure_of,
    forget_engine_errors,
    standing_failures,
    unreadable,
)
from pipeline.building.make_missing import Counts, make_missing
from pipeline.building.soundness import Watch
from pipeline.core.id_set import IdSet
from pipeline.core.schema import Task
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.assignment import tasks_of
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.shards import Shard
from pipeline.runs.store import Appender, read_ids
from pipeline.tasks.parsing import BadRow


class PlannedDialogue(NamedTuple):
    """One dialogue to be made."""

    id: str
    task: Task
    cell: Cell
    sample: int
    key: str  # of its random streams
    condition: Condition  # as it is stored


def planned_dialogues(cell: Cell, tasks: Collection[Task]) -> Iterator[PlannedDialogue]:
    """The dialogues that a cell asks for, in a fixed order."""
    keys, condition = DialogueKeys(cell), cell.condition.shaped()
    for sample in range(cell.experiment.per_task(cell.condition_name)):
        for task in tasks_of(cell.experiment, cell.condition_name, tasks):
            yield PlannedDialogue(
                id=keys.id(task.id, sample),
                task=task,
                cell=cell,
                sample=sample,
                key=keys.stream(task.id, sample),
                condition=condition,
            )


def finished(run: Path, condition_name: str, shard: Shard | None = None) -> IdSet:
    """Ids of a condition that need no more work: its dialogues, and its failures but those of the engine, in the
    run and in the shard."""

    def ended() -> Iterator[str]:
        for folder in (run, shard.folder(run)) if shard else (run,):
            yield from read_ids(dialogues_path(folder, condition_name), Dialogue)
            yield from standing_failures(folder)

    return IdSet(ended())


async def build(
    cell: Cell,
    tasks: Collection[Task],
    bad: list[BadRow],
    cast: Cast | None,
    tick: Callable[[], None],
    shard: Shard | None = None,
    watch: Watch | None = None,
    most: int | None = None,
    there: int | None = None,
) -> Counts:
    """Play what is missing of one cell, or of its part in a shard, at most `most` of it; `tick` is called at each
    dialogue's end. `cast` may be None where nothing is missing; who knows that says how many are `there`, and they are
    not gone through again.

    Raises Stopped as `make_missing` does, and UnsoundPartner where `watch` is given and stops it.
    """
    run = cell.experiment.run
    folder = shard.folder(run) if shard else run
    ended = IdSet() if there is not None and not bad else finished(run, cell.condition_name, shard)
    forget_engine_errors(folder, cell)
    with Appender(folder / "failures.jsonl") as file:
        for failure in unreadable(cell, bad):
            if failure.id not in ended and (shard is None or shard.takes(failure.id)):
                file.append(failure)
    planned = planned_dialogues(cell, tasks) if there is None else ()
    plans: Iterator[PlannedDialogue]
    plans = (plan for plan in planned if shard is None or shard.takes(plan.id))
    if most is not None:
        plans = islice((plan for plan in plans if plan.id not in ended), most)

    async def make(plan: PlannedDialogue) -> Dialogue | Failure:
        assert cast is not None, f"{plan.id} is missing, and nobody is there to play it"
        record = await play_planned(plan, cast)
        if watch and isinstance(record, Dialogue):
            watch.add(record)
        return record

    counts = await make_missing(
        watch.admitted(plans) if watch else plans,
        ended,
        make,
        records=dialogues_path(folder, cell.condition_name),
        failures=folder / "failures.jsonl",
        failure=Failure,
        at_a_time=cell.experiment.dialogue.at_a_time,
        tick=tick,
        what=f"dialogues of {cell}",
    )
    if watch:
        watch.require()
    return counts._replace(skipped=counts.skipped + (there or 0))


async def play_planned(plan: PlannedDialogue, cast: Cast) -> Dialogue | Failure:
    """The planned dialogue, or the failure that it ended in."""
    cell, task = plan.cell, plan.task
    try:
        if cell.condition.row.believes_key and not task.wrong_answer:
            raise NoWrongAnswer(f"no wrong answer like {task.answer!r} could be made, and the partner would say one")
        played = await play(
            Episode(task=task, condition=cell.condition, cast=cast, settings=cell.experiment.dialogue, key=plan.key)
        )
    except TYPED as error:
        return failure_of(cell, plan.id, task.id, error)
    return Dialogue(
        id=plan.id,
        task=task,
        condition_name=cell.condition_name,
        condition=plan.condition,
        seed=cell.seed,
        round=cell.round,
        sample=plan.sample,
        turns=played.turns,
        stop=played.stop,
        before=played.before,
        after=played.after,
        meta={"primed": list(played.primed)} if played.primed else {},
    )

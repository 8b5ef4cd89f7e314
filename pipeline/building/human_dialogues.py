"""Dialogues that people held, stored like those that were played: once each, with what could not be read.

maieutic build configs/mathdial.yaml
"""

from __future__ import annotations

import asyncio

from pipeline.building.build import finished
from pipeline.building.failures import failure_of, forget_engine_errors, unreadable
from pipeline.building.make_missing import Counts
from pipeline.experiment.cell import Cell
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.reading.instrument import Instrument
from pipeline.reading.protocol import NotRead
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import Appender
from pipeline.tasks.parsing import BadRow


async def adopt(cell: Cell, dialogues: list[Dialogue], bad: list[BadRow], reads: Instrument) -> Counts:
    """Store what is not there yet, with what its turns do. A row that is no dialogue is a failure that names its line,
    and so is a dialogue with a turn that cannot be read."""
    run = cell.experiment.run
    forget_engine_errors(run, cell)
    ended, failures = finished(run, cell.condition_name), [*unreadable(cell, bad)]
    missing = [dialogue for dialogue in dialogues if dialogue.id not in ended]
    failed = [failure for failure in failures if failure.id not in ended]
    read = await asyncio.gather(*(_read(cell, dialogue, reads) for dialogue in missing))
    new = [record for record in read if isinstance(record, Dialogue)]
    failed += [record for record in read if isinstance(record, Failure)]
    with Appender(dialogues_path(run, cell.condition_name)) as file:
        for dialogue in new:
            file.append(dialogue)
    with Appender(run / "failures.jsonl") as file:
        for failure in failed:
            file.append(failure)
    return Counts(len(new), len(failed), len(dialogues) + len(failures) - len(new) - len(failed))


async def _read(cell: Cell, dialogue: Dialogue, reads: Instrument) -> Dialogue | Failure:
    try:
        turns = await reads.read(dialogue.task, dialogue.turns, imported=True)
    except NotRead as error:
        return failure_of(cell, dialogue.id, dialogue.task.id, error)
    return dialogue.model_copy(update={"turns": turns})

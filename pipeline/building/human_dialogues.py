"""Dialogues that people held, stored like those that were played: once each, with what could not be read.

maieutic build configs/mathdial.yaml
"""

from __future__ import annotations

from functools import partial

from pipeline.building.build import finished
from pipeline.building.failures import failure_of, forget_engine_errors, unreadable
from pipeline.building.make_missing import Counts, make_missing
from pipeline.experiment.cell import Cell
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.reading.instrument import Instrument
from pipeline.reading.protocol import NotRead
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.progress import stage
from pipeline.tasks.parsing import BadRow


async def adopt(cell: Cell, dialogues: list[Dialogue], bad: list[BadRow], reads: Instrument) -> Counts:
    """Store what is not there yet, with what its turns do. A row that is no dialogue is a failure that names its line,
    and so is a dialogue with a turn that cannot be read. Raises Stopped."""
    run = cell.experiment.run
    forget_engine_errors(run, cell)
    ended = finished(run, cell.condition_name)
    held: list[Dialogue | Failure] = [*unreadable(cell, bad), *dialogues]
    with stage(cell.label("build"), sum(record.id not in ended for record in held)) as progress:
        return await make_missing(
            held,
            ended,
            partial(_read, cell, reads),
            records=dialogues_path(run, cell.condition_name),
            failures=run / "failures.jsonl",
            failure=Failure,
            at_a_time=cell.experiment.dialogue.at_a_time,
            tick=progress,
            what=f"dialogues of {cell}",
        )


async def _read(cell: Cell, reads: Instrument, held: Dialogue | Failure) -> Dialogue | Failure:
    if isinstance(held, Failure):  # its row is none
        return held
    try:
        turns = await reads.read(held.task, held.turns, imported=True)
    except NotRead as error:
        return failure_of(cell, held.id, held.task.id, error)
    return held.model_copy(update={"turns": turns})

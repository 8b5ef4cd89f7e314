"""Dialogues that people held, stored like those that were played: once each, with what could not be read.

maieutic build configs/mathdial.yaml
"""

from __future__ import annotations

from pipeline.building.build import finished
from pipeline.building.failures import unreadable
from pipeline.building.make_missing import Counts
from pipeline.experiment.cell import Cell
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import Appender
from pipeline.tasks.parsing import BadRow


def adopt(cell: Cell, dialogues: list[Dialogue], bad: list[BadRow]) -> Counts:
    """Store what is not there yet. A row that could not be read is a failure that names its line."""
    run = cell.experiment.run
    ended, failures = finished(run, cell.condition_name), [unreadable(cell, row) for row in bad]
    new = [dialogue for dialogue in dialogues if dialogue.id not in ended]
    failed = [failure for failure in failures if failure.id not in ended]
    with Appender(dialogues_path(run, cell.condition_name)) as file:
        for dialogue in new:
            file.append(dialogue)
    with Appender(run / "failures.jsonl") as file:
        for failure in failed:
            file.append(failure)
    return Counts(len(new), len(failed), len(dialogues) + len(failures) - len(new) - len(failed))

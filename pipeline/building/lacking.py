"""What a built run should hold, and does not: records that were deleted, or that a build has still to make."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from pipeline.building.build import finished, planned_dialogues
from pipeline.building.rounds import speaking
from pipeline.building.turn_values import branches_due, ended_branches, has_turn_values
from pipeline.core.schema import Task
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.runs.dialogue_pool import branches_path, dialogues_path, own_dialogues
from pipeline.runs.store import read
from pipeline.tasks.loading import load_dialogues, stream_tasks


class Lacking(NamedTuple):
    """So many records of a condition that belong into a file are neither there nor among the failures."""

    condition_name: str
    path: Path
    missing: int


def lacking(experiment: Experiment) -> Iterator[Lacking]:
    """What is not there of the dialogues, and of the branches of turn values, that the config asks for.

    Raises StoreError for a broken line, with its file and number, and ConfigError where the source is gone.
    """
    tasks, _ = stream_tasks(experiment.tasks, "train")
    for name in speaking(experiment, list(experiment.conditions)):
        _read_whole(dialogues_path(experiment.run, name), Dialogue)
        ended = finished(experiment.run, name)
        own = (cell for round in range(experiment.rounds) for cell in cells(experiment, [name], round))
        if count := sum(id not in ended for cell in own for id in _ids(cell, tasks)):
            yield Lacking(name, dialogues_path(experiment.run, name), count)
        if has_turn_values(experiment, name):
            _read_whole(branches_path(experiment.run, name), Branch)
            due = branches_due(own_dialogues(experiment, name), experiment.turn_values)
            played = ended_branches(experiment, name)
            if count := sum(plan.id not in played for plan in due):
                yield Lacking(name, branches_path(experiment.run, name), count)


def _read_whole(path: Path, kind: type[BaseModel]) -> None:
    """Resuming reads of a line no more than its id, and would not see that the rest is broken."""
    for _ in read(path, kind):
        pass


def _ids(cell: Cell, tasks: Collection[Task]) -> Iterator[str]:
    if cell.condition.voice == "human":  # held once, whatever the round
        imported, _ = load_dialogues(cell.experiment.tasks, cell.condition_name, cell.condition, cell.seed)
        return (dialogue.id for dialogue in imported)
    return (plan.id for plan in planned_dialogues(cell, tasks))

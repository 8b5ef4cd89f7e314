"""Several students at a time, where no GPU trains them (pipeline/runs/processes.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pipeline.core.errors import MaieuticError
from pipeline.engines.decoding.freed_memory import collect
from pipeline.engines.transformers import memory_for
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import ROLES
from pipeline.knowledge.condition import ONLINE
from pipeline.runs import processes
from pipeline.runs.directory import adapter_before
from pipeline.runs.worker import that_travels
from training.largest_pass import memory_of
from training.memory_needed import FACTOR, Memory, sizes_of
from training.one_student import trained
from training.student import train


def train_each(
    due: Sequence[Cell], meanwhile: Callable[[], None] = lambda: None
) -> Iterator[tuple[Cell, Path | MaieuticError]]:
    """Each student's adapter, or why there is none, in this order; as many are trained at a time as have room, and then
    `meanwhile` is called once all wait for a process."""
    at_once = processes.kept_at_once() or room_for(due)
    if at_once > 1:
        yield from processes.each(trained, "train", due, at_once, meanwhile)
        return
    for cell in due:
        came = _came(cell)
        collect()  # what the frames of an error held, too, before the next trainer asks for a GPU's memory
        yield cell, came


def _came(cell: Cell) -> Path | MaieuticError:
    try:
        return train(cell, adapter_before(cell))
    except MaieuticError as error:
        return that_travels(error)


def room_for(due: Sequence[Cell], left: float = 0.0) -> int:
    """How many of these can be trained at a time, beside what is `left` to other work here, in bytes; 1 where they play
    with models of others, or on a server."""
    playing = [cell.experiment for cell in due if cell.condition.method in ONLINE]
    if len(due) < 2 or not all(map(_plays_by_itself, playing)):
        return 1
    experiments = {cell.experiment.base: cell.experiment for cell in due}.values()
    return processes.room_for(len(due), max(_needed(each, bool(playing)) for each in experiments), left)


def room_beside_building(due: Sequence[Cell]) -> int:
    """How many of these can be trained at a time while dialogues are made; 1 where others' weights are opened here, of
    which nobody knows how much they take."""
    experiment = due[0].experiment
    speaking = {(experiment.engine_of(role).kind, experiment.role(role).model) for role in ROLES}
    if any(kind == "vllm" or (kind == "transformers" and model != experiment.base) for kind, model in speaking):
        return 1
    return room_for(due, left=_of_engines(_memory(experiment)))


def _needed(experiment: Experiment, plays: bool) -> float:
    """Bytes of one process that trains a student of this base."""
    needed = _memory(experiment)
    return FACTOR * needed.total + (_of_engines(needed) if plays else 0)


def _memory(experiment: Experiment) -> Memory:
    return memory_of(experiment, sizes_of(experiment.base, experiment.training.lora))


def _of_engines(needed: Memory) -> int:
    """Bytes of what engines remember, and of a speaker's weights."""
    return 2 * memory_for(needed.weights) + needed.weights


def _plays_by_itself(experiment: Experiment) -> bool:
    """Whether who speaks with a student that plays is the base again, in the same process."""
    return {(experiment.role(name).model, experiment.engine_of(name).kind) for name in ROLES} == {
        (experiment.base, "transformers")
    }

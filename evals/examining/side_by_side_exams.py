"""Several students sit their exams at a time, where no server or GPU answers for them (pipeline/runs/processes.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evals.examining.one_sitter import sat
from evals.examining.sitter import Sat
from pipeline.core.errors import MaieuticError
from pipeline.engines.transformers import memory_for
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import ROLES
from pipeline.runs.processes import each, room_for
from training.memory_needed import cache_bytes_per_token, sizes_of

# Seconds of work from which a second process is worth its start, which takes a core ten.
WORTH_A_PROCESS = 40.0
CONTEXT = 1024  # tokens of a prompt and its answer, seldom more


def sit_each(due: Sequence[Cell], at_once: int) -> Iterator[tuple[Cell, Sat]]:
    """What sitting took each of them, in this order. Raises what stopped the first of those that were stopped, once all
    others have sat."""
    stopped: list[MaieuticError] = []
    for cell, came in each(sat, "examine", due, at_once):
        if isinstance(came, MaieuticError):
            stopped.append(came)
        else:
            yield cell, came
    if stopped:
        raise stopped[0]


def room_for_sitters(due: Sequence[Cell], answers: int) -> int:
    """How many of these go at a time, of `answers` answers each; 1 where one process is soon done with all, and where a
    role has a model of its own, which every process would open."""
    experiments = list({cell.experiment.base: cell.experiment for cell in due}.values())
    own = any({each.role(name).model for name in ROLES} != {each.base} for each in experiments)
    if len(due) < 2 or own:
        return 1
    needed, weights = max(map(_needed, experiments)), _weights(experiments[0])
    if len(due) * answers * (0.004 + 1e-9 * weights) < WORTH_A_PROCESS:  # seconds of one core, at least
        return 1
    return room_for(len(due), needed)


def _needed(experiment: Experiment) -> float:
    """Bytes of one process: the student and the base, what a batch knows, and what each keeps."""
    sizes = sizes_of(experiment.base, experiment.training.lora)
    known = experiment.engine.batch * CONTEXT * cache_bytes_per_token(sizes, bf16=False)
    weights = 4 * _weights(experiment)
    return 2 * weights + known + 2 * memory_for(weights)


def _weights(experiment: Experiment) -> int:
    sizes = sizes_of(experiment.base, experiment.training.lora)
    return sizes.linear + sizes.other

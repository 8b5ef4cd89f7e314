"""Several students sit their exams at a time, where no server or GPU answers for them (pipeline/runs/processes.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evals.examining.sitter import Sat
from pipeline.core.errors import MaieuticError
from pipeline.engines.transformers import MEMORY
from pipeline.experiment.cell import Cell
from pipeline.runs.processes import each, room_for
from training.memory_needed import cache_bytes_per_token, sizes_of

# Seconds of work from which a second process is worth its start, which takes a core ten.
WORTH_A_PROCESS = 40.0
CONTEXT = 1024  # tokens of a prompt and its answer, seldom more
AROUND = 2**30  # bytes of Python, torch and the readers


def sit_each(due: Sequence[Cell], at_once: int) -> Iterator[tuple[Cell, Sat]]:
    """What sitting took each of them, in this order. Raises what stopped one."""
    for cell, sat in each("evals.examining.one_sitter", "examine", due, at_once):
        if isinstance(sat, MaieuticError):
            raise sat
        yield cell, sat


def room_for_sitters(due: Sequence[Cell], answers: int) -> int:
    """How many of these go at a time, of `answers` answers each; 1 where one process is soon done with all."""
    experiment = due[0].experiment
    if len(due) < 2:
        return 1
    sizes = sizes_of(experiment.base, experiment.training.lora)
    weights = sizes.linear + sizes.other
    if len(due) * answers * (0.004 + 1e-9 * weights) < WORTH_A_PROCESS:  # seconds of one core, at least
        return 1
    known = experiment.engine.batch * CONTEXT * cache_bytes_per_token(sizes, bf16=False)
    return room_for(len(due), AROUND + 2 * 4 * weights + known + 2 * MEMORY)

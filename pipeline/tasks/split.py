"""Which problems and wordings are trained on, which are examined, and which problems are the same: by their words,
before any run."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence

from pipeline.core.schema import Task, question_hash

NUMBERS_OF_A_SEED = 10_000_000
HELD_OUT = 2  # the last wordings of every list, that no training task has


def split_of(question: str) -> str:
    """'train' or 'exam' (one in five), by the words and numbers of the full question, in every source alike."""
    return "exam" if int(question_hash(question), 16) % 5 == 0 else "train"


def endless(make: Callable[[int], Task | None], seed: int) -> Iterator[Task]:
    """What `make` gives of one number after another, without None and with no question twice; the same for a seed."""
    seen = set[str]()
    for number in itertools.count(seed * NUMBERS_OF_A_SEED):
        task = make(number)
        if task is None or (asked := question_hash(task.full_question)) in seen:
            continue
        seen.add(asked)
        yield task


def worded(rng: random.Random, wordings: Sequence[str], held_out: bool, **letters: str) -> str:
    """One of the wordings that no training task has, where `held_out`, else one of the others; filled in."""
    chosen = rng.choice(wordings[-HELD_OUT:] if held_out else wordings[:-HELD_OUT])
    return chosen.format(**letters)

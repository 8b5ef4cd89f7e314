"""Hits and cases by task and seed, summed on disk: the interval of a share of a million dialogues takes little memory.

rate = pooled_cases((dialogue.seed, dialogue.task.id, is_right) for dialogue in dialogues)
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

import numpy as np

from evals.stats.intervals import Rate, pooled_grid
from pipeline.core.spool import temporary_database

Case = tuple[int, str, int]  # seed, task, and 1 for a hit


def pooled_cases(cases: Iterable[Case]) -> Rate:
    """As `pooled` of their sums by seed and task (evals.stats.intervals); NaN without any case."""
    with closing(temporary_database()) as to:
        to.execute("CREATE TABLE cases (seed INT, task TEXT, hit INT)")
        to.executemany("INSERT INTO cases VALUES (?, ?, ?)", cases)
        row_of = {seed: i for i, (seed,) in enumerate(to.execute("SELECT DISTINCT seed FROM cases ORDER BY seed"))}
        [tasks] = to.execute("SELECT count(DISTINCT task) FROM cases").fetchone()
        hits, n = np.zeros((2, len(row_of), tasks))
        last, column = None, -1
        sums = "SELECT task, seed, sum(hit), count(*) FROM cases GROUP BY task, seed ORDER BY task, seed"
        for task, seed, hit, count in to.execute(sums):
            last, column = task, column + (task != last)
            hits[row_of[seed], column] = hit
            n[row_of[seed], column] = count
    return pooled_grid(hits, n)

"""The shuffled control: whose rows a student learns from is drawn by lot, before any training.

Conditions then differ in nothing but their names. What still differs between their students is chance, and shows how
much of it a report lets through.

    maieutic run configs/shapes_shuffled.yaml
"""

from __future__ import annotations

import random

from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.rows import Row
from pipeline.experiment.cell import Cell


def dealt(cell: Cell) -> list[Row]:
    """As many rows as the cell's own, of all conditions in the regime `shuffled`, in the order of their ids.

    The names of the rows' conditions are permuted, the same way for all students of a seed and round.
    """
    experiment = cell.experiment
    named = [
        (name, row)
        for name in experiment.with_regime("shuffled")
        for row in read_rows(experiment, name)
        if (row["seed"], row["round"]) == (cell.seed, cell.round)
    ]
    names = [name for name, _ in named]
    random.Random(f"dealt-{cell.seed}-{cell.round}").shuffle(names)
    mine = [row for name, (_, row) in zip(names, named, strict=True) if name == cell.condition_name]
    return sorted(mine, key=lambda row: row["id"])

"""What one student learns from."""

from __future__ import annotations

from pipeline.core.errors import ConfigError
from pipeline.datasets.dataset_files import read_rows
from pipeline.datasets.rows import Row
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import ONLINE
from pipeline.runs.directory import adapter_before
from training.inputs.dealt import dealt
from training.inputs.untrained import NothingToTrain


def student_rows(cell: Cell) -> list[Row]:
    """The rows of the cell's dataset, in the order of their ids; of who plays in that of their tasks, so that all
    conditions of a seed play the same task at the same step. Raises NothingToTrain without any, and where the
    student that this one is to begin as was left untrained: learning from the base would be another condition."""
    if cell.condition.begins and adapter_before(cell) is None:
        raise NothingToTrain(f"{cell}: it begins as the student of {cell.condition.begins!r}, which is not trained")
    if (regime := cell.experiment.regime_of(cell.condition_name)) == "shuffled":
        if not (rows := dealt(cell)):
            raise NothingToTrain(f"{cell}, round {cell.round}: it kept no rows")
        return rows
    everything = read_rows(cell.experiment, cell.condition_name)
    rows = [row for row in everything if (row["seed"], row["round"]) == (cell.seed, cell.round)]
    if regime == "matched":
        if any("matched" not in row for row in rows):
            raise ConfigError(
                f"regime: 'matched', but the dataset of {cell.condition_name!r} is not matched with the "
                "others. The same config's `maieutic build` matches them."
            )
        rows = [row for row in rows if row["matched"]]
    if cell.condition.first_acts == "as_played" and any("times" not in row for row in rows):
        raise ConfigError(
            f"first_acts: 'as_played', and the dataset of {cell.condition_name!r} does not say how often its rows "
            "count. The same config's `maieutic build` marks them."
        )
    if not rows:
        raise NothingToTrain(f"{cell}, round {cell.round}: no rows among {len(everything)} of all seeds")
    often = [row for row in rows for _ in range(row.get("times", 1))]
    by_task = cell.condition.method in ONLINE  # an id hangs on the condition's name
    return sorted(often, key=lambda row: (row["task_id"] if by_task else "", row["id"]))

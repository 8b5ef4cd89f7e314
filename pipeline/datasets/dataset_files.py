"""Where the Parquet files of a run's datasets lie, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet

from pipeline.core.errors import RunError
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.rows import Row
from pipeline.experiment.experiment import Experiment


def dataset_path(experiment: Experiment, condition_name: str) -> Path:
    """The folder of the format that the condition's method learns from."""
    format = LEARNING_RULES[experiment.conditions[condition_name].method].format
    return experiment.run / "datasets" / condition_name / format


def stream_rows(experiment: Experiment, condition_name: str) -> Iterator[Row]:
    """The rows of a condition's dataset, some held at once. Raises RunError where it was not built."""
    files = sorted(dataset_path(experiment, condition_name).glob("*.parquet"))
    if not files:
        raise RunError(
            f"{dataset_path(experiment, condition_name)}: no Parquet files; run `maieutic build` on this config first"
        )
    for file in files:
        with parquet.ParquetFile(file) as table:
            for i in range(table.num_row_groups):  # `iter_batches` holds on to what it has read
                yield from table.read_row_group(i).to_pylist()


def read_rows(experiment: Experiment, condition_name: str) -> list[Row]:
    """All rows of `stream_rows`, held."""
    return list(stream_rows(experiment, condition_name))

"""The Parquet files of a run's datasets. They are replaced whole: a reader sees the old dataset or the new one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
from datasets import Features

from pipeline.core.errors import RunError
from pipeline.core.files import written_whole
from pipeline.datasets.formats import FORMATS
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.rows import Row
from pipeline.experiment.experiment import Experiment

ROW_GROUP = 1000  # rows that are held at once


def dataset_path(experiment: Experiment, condition_name: str) -> Path:
    """The folder of the format that the condition's method learns from."""
    format = LEARNING_RULES[experiment.conditions[condition_name].method].format
    return experiment.run / "datasets" / condition_name / format


def write_rows(folder: Path, rows: Iterable[Row], columns: Features = FORMATS["sft"]) -> int:
    """Replace the Parquet file of a dataset. Returns how many rows it has."""
    schema, written, rest = columns.arrow_schema, 0, iter(rows)  # its metadata tells `datasets` the features
    with written_whole(folder / "train.parquet") as temporary, parquet.ParquetWriter(temporary, schema) as file:
        while part := list(itertools.islice(rest, ROW_GROUP)):
            file.write_table(pa.Table.from_pylist(part, schema=schema))
            written += len(part)
    return written


def stream_rows(experiment: Experiment, condition_name: str) -> Iterator[Row]:
    """The rows of a condition's dataset, some held at once. Raises RunError where it was not built."""
    files = sorted(dataset_path(experiment, condition_name).glob("*.parquet"))
    if not files:
        raise RunError(
            f"{dataset_path(experiment, condition_name)}: no Parquet files; run `maieutic build` on this config first"
        )
    for file in files:
        with parquet.ParquetFile(file) as table:
            for part in table.iter_batches(ROW_GROUP):
                yield from part.to_pylist()


def read_rows(experiment: Experiment, condition_name: str) -> list[Row]:
    """All rows of `stream_rows`, held."""
    return list(stream_rows(experiment, condition_name))

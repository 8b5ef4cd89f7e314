"""The rows of any dataset with their places: JSON, JSON Lines, Parquet, what `datasets` saved, or a hub name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from pipeline.core.errors import ConfigError
from pipeline.core.resources import DATA_FILES, may_be_of_hub
from pipeline.tasks.parsing import RowError, first_line, json_lines, load_splits, read_text, storable


def open_rows(split: str, name: str, rows: str, alone: bool) -> Iterator[tuple[str, str, Any]]:
    """(split, place, row) of every row; `rows` is the key of the list in a JSON file. A dataset with splits of its own
    that is not `alone` has them within this one, and places begin with it: other files may have the same name.
    Raises ConfigError."""
    for part, place, row in _opened(split, name, rows):
        if alone:
            yield part or split, place, row
        else:
            yield f"{split}/{part}" if part else split, f"{split}: {place}", row


def _opened(split: str, name: str, rows: str) -> Iterator[tuple[str, str, Any]]:
    """With the split that the file itself gives a row, '' where it gives none or one to all."""
    path, key = Path(os.path.expandvars(name)), f"files.{split}"
    if "$" in str(path):
        raise ConfigError(f"{key}: {name!r} names an environment variable that is not set. Export it.")
    if path.suffix in DATA_FILES and not path.is_file():
        raise ConfigError(f"{key}: {str(path)!r} is not a file. Correct the path.")
    if path.suffix == ".json":
        yield from (("", *placed) for placed in _of_json(path, key, rows))
    elif path.suffix == ".parquet":
        yield from (("", *placed) for placed in _of_parquet(path, key))
    elif path.is_file():
        yield from (("", where.rpartition("/")[2], row) for where, row in json_lines(path, key))
    elif not path.is_dir() and not may_be_of_hub(str(path)):
        raise ConfigError(
            f"{key}: {name!r} is no file or folder here, and no name of the Hugging Face hub, which is OWNER/NAME "
            "where OWNER is no folder here. Correct the path."
        )
    else:
        yield from _of_splits(str(path), key)


def _of_parquet(path: Path, key: str) -> Iterator[tuple[str, Any]]:
    try:
        with parquet.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches(1000) for row in _of_batch(batch))
            yield from ((f"{path.name}, row {i}", row) for i, row in enumerate(rows))
    except pa.ArrowException as error:
        raise ConfigError(f"{key}: {str(path)!r} is not Parquet ({first_line(error)}). Correct the path.") from None


def _of_batch(batch: pa.RecordBatch) -> Iterator[Any]:
    """Its rows; one with a damaged byte comes as its RowError."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        if batch.num_rows == 1:
            yield RowError("not UTF-8")
            return
        for i in range(batch.num_rows):
            yield from _of_batch(batch.slice(i, 1))


def _of_json(path: Path, key: str, rows: str) -> Iterator[tuple[str, Any]]:
    try:
        data: Any = json.loads(read_text(path, key))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{key}: {str(path)!r} is not JSON: {error}. JSON Lines have the suffix .jsonl.") from None
    for part in filter(None, rows.split(".")):
        if not isinstance(data, dict) or part not in data:
            raise ConfigError(f"rows: {rows!r} is not in {path}. Expected the key of its list of rows.")
        data = data[part]
    if not isinstance(data, (list, dict)):
        raise ConfigError(f"{key}: {path} holds {type(data).__name__}, expected a list of rows; set rows to its key.")
    for i, row in data.items() if isinstance(data, dict) else enumerate(data):
        yield f"{path.name}, item {i}", storable(row)


def _of_splits(name: str, key: str) -> Iterator[tuple[str, str, Any]]:
    splits = load_splits(name, key)
    for split, rows in splits.items():
        yield from ((split if len(splits) > 1 else "", f"{split}, row {i}", row) for i, row in enumerate(rows))

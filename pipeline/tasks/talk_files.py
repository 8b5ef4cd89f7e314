"""The rows of any dataset with their places: JSON, JSON Lines, Parquet, what `datasets` saved, or a hub name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from pipeline.core.errors import ConfigError
from pipeline.tasks.parsing import json_lines, read_text


def open_rows(split: str, name: str, rows: str = "") -> Iterator[tuple[str, str, Any]]:
    """(split, place, row) of every row; `rows` is the key of the list in a JSON file. Raises ConfigError."""
    path, key = Path(os.path.expandvars(name)), f"files.{split}"
    if "$" in str(path):
        raise ConfigError(f"{key}: {name!r} names an environment variable that is not set. Export it.")
    if path.suffix in (".json", ".jsonl", ".parquet") and not path.is_file():
        raise ConfigError(f"{key}: {str(path)!r} is not a file. Correct the path.")
    if path.suffix == ".json":
        yield from ((split, *placed) for placed in _of_json(path, key, rows))
    elif path.suffix == ".parquet":
        yield from ((split, *placed) for placed in _of_parquet(path, key))
    elif path.is_file():
        yield from ((split, where.rpartition("/")[2], row) for where, row in json_lines(path, key))
    elif not path.is_dir() and not may_be_of_hub(name):
        raise ConfigError(
            f"{key}: {name!r} is no file or folder here, and no name of the Hugging Face hub, which is OWNER/NAME "
            "where OWNER is no folder here. Correct the path."
        )
    else:
        yield from _of_hub(path if path.is_dir() else Path(name), key)


def may_be_of_hub(name: str) -> bool:
    """Whether a name that is no path here can be one of the hub: OWNER/NAME, where OWNER is no folder here."""
    return bool(re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name)) and not Path(name).parent.is_dir()


def _of_parquet(path: Path, key: str) -> Iterator[tuple[str, Any]]:
    try:
        with parquet.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches(1000) for row in batch.to_pylist())
            yield from ((f"{path.name}, row {i}", row) for i, row in enumerate(rows))
    except pa.ArrowException as error:
        raise ConfigError(f"{key}: {str(path)!r} is not Parquet ({_first_line(error)}). Correct the path.") from None


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
        yield f"{path.name}, item {i}", row


def _of_hub(path: Path, key: str) -> Iterator[tuple[str, str, Any]]:
    """Every split of what `datasets` saved, of a folder of data files, or of a dataset of the hub."""
    import datasets  # slow to import

    try:
        saved = (path / "state.json").is_file() or (path / "dataset_dict.json").is_file()
        splits = datasets.load_from_disk(str(path)) if saved else datasets.load_dataset(str(path))
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        # Of files that differ it says only that an error occurred; why is in its cause.
        why = _first_line(error.__cause__ or error)
        raise ConfigError(
            f"{key}: {str(path)!r} is no file, and `datasets` cannot load it ({why}). Expected a JSON, JSON Lines or "
            "Parquet file, a folder of such files that all have the same fields, or a name of the Hugging Face hub."
        ) from error
    for split, rows in splits.items() if isinstance(splits, dict) else [("all", splits)]:
        yield from ((str(split), f"{split}, row {i}", row) for i, row in enumerate(rows))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)

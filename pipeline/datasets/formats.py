"""TRL's dataset formats: the columns of each, and how its Parquet file is written.

Files are replaced whole: a reader sees the old dataset or the new one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
from datasets import Features, List, Value

from pipeline.core.files import written_whole
from pipeline.datasets.learning_rules import Format
from pipeline.datasets.rows import Row

ROW_GROUP = 1000  # rows that are held at once, written and read
_MESSAGES = List({"role": Value("string"), "content": Value("string")})
_WHENCE = {
    "id": Value("string"),
    "task_id": Value("string"),
    "seed": Value("int64"),
    "round": Value("int64"),
    "specification": Value("string"),
}
_LEARN = List(Value("bool"))
# Each a folder of datasets/<condition>/.
FORMATS: dict[Format, Features] = {
    "sft": Features({**_WHENCE, "messages": _MESSAGES, "learn": _LEARN}),
    "prompt_completion": Features({**_WHENCE, "prompt": _MESSAGES, "completion": _MESSAGES}),
    "preference": Features(
        {**_WHENCE, "prompt": _MESSAGES, "chosen": _MESSAGES, "rejected": _MESSAGES, "margin": Value("float64")}
    ),
    "unpaired_preference": Features(
        {**_WHENCE, "prompt": _MESSAGES, "completion": _MESSAGES, "label": Value("bool"), "learn": _LEARN}
    ),
    "prompt_only": Features({**_WHENCE, "prompt": _MESSAGES}),
    "privileged_context": Features({**_WHENCE, "prompt": _MESSAGES, "privileged_context": Value("string")}),
}


def write_rows(folder: Path, rows: Iterable[Row], columns: Features = FORMATS["sft"]) -> int:
    """Replace the Parquet file of a dataset. Returns how many rows it has."""
    # Without its metadata, which `datasets` before 4 cannot read; the types say all.
    schema, written, rest = columns.arrow_schema.remove_metadata(), 0, iter(rows)
    with written_whole(folder / "train.parquet") as temporary, parquet.ParquetWriter(temporary, schema) as file:
        while part := list(itertools.islice(rest, ROW_GROUP)):
            file.write_table(pa.Table.from_pylist(part, schema=schema))
            written += len(part)
    return written

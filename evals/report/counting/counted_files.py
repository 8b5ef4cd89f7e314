"""What a condition has on disk, as far as it is counted for a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as parquet

from evals.stats.wording_shortcut import Wordings
from pipeline.core.id_set import IdSet
from pipeline.core.schema import Json
from pipeline.core.spool import Spool
from pipeline.datasets.survey import Surveyed
from pipeline.knowledge.records import Failure


class Seen(NamedTuple):
    """What is counted of a dialogue."""

    record: Surveyed
    question: str  # a hash of the whole of it
    missing: bool  # the question lacks a needed fact
    asks: bool  # for such a fact, or naming none, in the first turn
    kept: bool = False  # trained on

    @property
    def own(self) -> bool:
        """Played whole, and not from a branch."""
        return self.record.place.sibling < 0

    @property
    def lucky(self) -> bool:
        """Right, though a needed fact was missing and never given."""
        return self.missing and self.record.is_correct and not self.record.is_grounded


class DatasetRow(NamedTuple):
    """What is counted of a row of a dataset."""

    id: str
    task_id: str
    specification: str
    seed: int
    round: int
    matched: bool = True  # of a dataset that is not matched every row was trained on
    times: int = 1  # of first acts as they were played some rows are learned from at no time

    @property
    def learned(self) -> bool:
        return self.matched and self.times > 0


class DatasetRows:
    """The rows of a dataset, read anew whenever they are gone through."""

    def __init__(self, folder: Path):
        self.files = sorted(folder.glob("*.parquet"))

    def __len__(self) -> int:
        return sum(parquet.read_metadata(file).num_rows for file in self.files)

    def __iter__(self) -> Iterator[DatasetRow]:
        for path in self.files:
            with parquet.ParquetFile(path) as file:
                there = [name for name in DatasetRow._fields if name in file.schema_arrow.names]
                for i in range(file.num_row_groups):  # `iter_batches` holds on to what it has read
                    part = file.read_row_group(i, columns=there)
                    columns = zip(*(part[name].to_pylist() for name in there), strict=True)
                    yield from (DatasetRow(**dict(zip(there, values, strict=True))) for values in columns)


class Files(NamedTuple):
    """What a condition has on disk beside its dialogues. `format` is that of its dataset, `selected` the ids that
    rejection sampling keeps, `kept` those that training saw, `branch_tokens` what was sampled for the branches."""

    format: str
    failures: list[Failure]
    rows: DatasetRows
    selected: IdSet
    kept: IdSet
    branches: IdSet
    branch_tokens: int
    lost_branches: int
    trained: list[Json]  # a record for each adapter


class Pooled(NamedTuple):
    """What is counted over a condition's pool of dialogues; turns and tokens by party, of those played whole alone."""

    dialogues: Spool[Seen]
    tasks: Wordings
    turns: Counter[str]
    tokens: Counter[str]
    branches_wanted: int  # of turn values

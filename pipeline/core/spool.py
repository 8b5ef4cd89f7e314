"""Many small records in a temporary file: gone through again and again, and in another order, without being held.

The file is SQLite's own: it lies where temporary files do (SQLITE_TMPDIR, TMPDIR), and is gone with the last reference.
"""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from typing import TypeVar
from weakref import finalize

Row = TypeVar("Row")
Key = tuple[str | int, ...]


class Spool(Collection[Row]):
    """The records of an iterable, in its order. It is read to its end at once."""

    def __init__(self, rows: Iterable[Row] = ()):
        self._to = temporary_database()
        finalize(self, self._to.close)
        self._to.execute("CREATE TABLE spool (n INTEGER PRIMARY KEY, row BLOB)")
        self._to.executemany("INSERT INTO spool (row) VALUES (?)", ((pickle.dumps(row, -1),) for row in rows))
        [self._count] = self._to.execute("SELECT count(*) FROM spool").fetchone()

    def __iter__(self) -> Iterator[Row]:
        for (row,) in self._to.execute("SELECT row FROM spool ORDER BY n"):
            yield pickle.loads(row)

    def __len__(self) -> int:
        return int(self._count)

    def __contains__(self, row: object) -> bool:
        return any(row == each for each in self)


def in_order(rows: Iterable[Row], key: Callable[[Row], Key]) -> Iterator[Row]:
    """As `sorted` gives them, stable too, and sorted on disk. Keys have one length; texts come by code point."""
    with closing(temporary_database()) as to:
        keyed = ((*key(row), pickle.dumps(row, -1)) for row in rows)
        first = next(keyed, None)
        if first is None:
            return
        columns = [f"k{i}" for i in range(len(first) - 1)]
        to.execute(f"CREATE TABLE keyed ({', '.join([*columns, 'row'])})")
        insert = f"INSERT INTO keyed VALUES ({', '.join('?' * len(first))})"
        to.execute(insert, first)
        to.executemany(insert, keyed)
        for (row,) in to.execute(f"SELECT row FROM keyed ORDER BY {', '.join([*columns, 'rowid'])}"):
            yield pickle.loads(row)


def temporary_database() -> sqlite3.Connection:
    """One of its own, in a file once it is larger than a cache of 2 MiB."""
    to = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    to.execute("PRAGMA journal_mode = OFF")  # nobody else sees it, and nothing of it is ever taken back
    to.execute("BEGIN")
    return to

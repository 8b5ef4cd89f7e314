"""Append-only JSON lines. A record is stored whole or not at all, also when the process is killed.

A record is one `write` to a file opened for appending. What a kill may leave is a last line without its
newline: readers skip it, and the next writer cuts it off before it appends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError, create_model

from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.core.files import written_whole

Row = TypeVar("Row", bound=BaseModel)


class StoreError(MaieuticError, ValueError):
    """A stored line that is not what this project wrote; the message names file and line."""


class _Named(BaseModel):
    """A record of which only the id is read, in a fifth of the time."""

    id: str


class Appender:
    """Appends records to one file; a context manager."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with self._alone():
            self._cut_torn_line()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other process appends: what is half visible of its line would be taken for torn."""
        fcntl.flock(self.file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self.file, fcntl.LOCK_UN)

    def _cut_torn_line(self) -> None:
        size = os.lseek(self.file, 0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - 65536)
            newline = os.pread(self.file, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            os.ftruncate(self.file, end)

    def append(self, record: BaseModel) -> None:
        """Write one line. Raises OSError, with the torn line cut off again, when the disk refuses."""
        line = record.model_dump_json().encode() + b"\n"
        with self._alone():
            size = os.lseek(self.file, 0, os.SEEK_END)
            if (written := os.write(self.file, line)) == len(line):
                return
            os.ftruncate(self.file, size)
        raise OSError(f"{self.path}: only {written} of {len(line)} bytes could be written, perhaps on a full disk")

    def sync(self) -> None:
        """Return when the disk holds what was appended."""
        os.fsync(self.file)

    def close(self) -> None:
        os.close(self.file)

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def end_last_line(path: Path, kind: type[Row]) -> None:
    """End the last line of a file that somebody may have written by hand, where it holds a whole record: an Appender
    would cut it as torn."""
    last = path.read_bytes().rpartition(b"\n")[2] if path.is_file() else b""
    if last:
        with suppress(ValidationError), path.open("ab") as file:
            kind.model_validate_json(last)
            file.write(b"\n")


def read(path: Path, kind: type[Row]) -> Iterator[Row]:
    """The records of a file in order; none where it does not exist.

    Raises StoreError with file and line, and ConfigError where an object of one's own that a line names is not here.
    """
    return (record for _, record in placed(path, kind))


def placed(path: Path, kind: type[Row]) -> Iterator[tuple[int, Row]]:
    """As `read`, each record with its place in the file, in bytes."""
    if not path.exists():
        return
    place = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield place, kind.model_validate_json(line)
                place += len(line)
            except ValidationError as error:
                raise _not_read(f"{path}:{number}", kind, error) from None


def read_ids(path: Path, kind: type[Row]) -> Iterator[str]:
    """The ids of a file's records in order, each held no longer than it is asked for; none where it does not exist.

    Raises as `read` does where the first record is none of that kind, so that what another version made is refused; of
    the others, where one is no object with an id.
    """
    next(read(path, kind), None)
    return (record.id for record in read(path, create_model(kind.__name__, __base__=_Named)))


def _not_read(where: str, kind: type[BaseModel], error: ValidationError) -> MaieuticError:
    """Why a line is none of ours: what it names is not here, another version wrote it, or it is broken."""
    errors = error.errors()
    for problem in errors:
        if isinstance(cause := problem.get("ctx", {}).get("error"), ConfigError):
            return ConfigError(f"{where}: {cause}")
    first = errors[0]
    told = f"{where}: not a {kind.__name__}: {'.'.join(map(str, first['loc']))} {first['msg'].rstrip('.')}."
    if any(problem["type"] == "extra_forbidden" for problem in errors):
        return StoreError(f"{told} It was made by an earlier version of maieutic: begin in another `out`.")
    return StoreError(f"{told} Delete that line; the next build makes its dialogue again.")


def rewrite(path: Path, records: list[Row]) -> None:
    """Replace a file's records at once."""
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.writelines(record.model_dump_json().encode() + b"\n" for record in records)
        file.flush()
        os.fsync(file.fileno())

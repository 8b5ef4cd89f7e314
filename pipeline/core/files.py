"""Files that are written whole or not at all, however the process ends."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A path of this writer's own beside `path`, whose file is gone after the block; a kill leaves it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path; what the block writes there replaces `path` at once, and is gone where the block fails."""
    with _beside(path) as temporary:
        yield temporary
        os.replace(temporary, path)


def write_whole(path: Path, text: str, errors: str = "strict") -> Path:
    """Write a whole file as UTF-8, over the one that is there."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors=errors)
    return path


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write a whole file of JSON Lines."""
    return write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_first(path: Path, text: str) -> None:
    """Write a whole file where none is; of several processes that do so at once the first one's stays."""
    with _beside(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
        with suppress(FileExistsError):
            os.link(temporary, path)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, which is read again where its size or its time is another."""
    stat = path.stat()
    return _hash_of(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4096)
def _hash_of(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_left(folder: Path) -> None:
    """Remove what killed writers left below a folder. Nobody else may be writing there."""
    for left in folder.rglob(".*.tmp"):
        if is_left(left.name):
            left.unlink(missing_ok=True)


def is_left(name: str) -> bool:
    """Whether it is one of the names that `_beside` gives."""
    return re.fullmatch(r"\..+\.[0-9a-f]{8}\.tmp", name) is not None

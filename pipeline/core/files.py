"""Files that are written whole or not at all, however the process ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path; what the block writes there replaces `path` at once, and is gone where the block fails.

    What a kill leaves of it, the next writer of the same file replaces.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


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
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()

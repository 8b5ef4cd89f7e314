"""The lines of a JSON Lines file of one's own that an exam asks about; bad ones are counted and shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pipeline.core.errors import ConfigError
from pipeline.runs.progress import say
from pipeline.tasks.parsing import BadRow, json_lines, parse

T = TypeVar("T")


def items(path: str, key: str, make: Callable[[dict[str, Any]], T]) -> tuple[list[T], list[BadRow]]:
    """`make` on every row of the file that the config names under `key`; $VARIABLES are expanded. Of equal items the
    first is kept. Raises ConfigError where there is no such file, or nothing in it can be read.
    """
    file = Path(os.path.expandvars(path))
    if not file.is_file():
        unset = " It names an environment variable that is not set." if "$" in str(file) else ""
        raise ConfigError(f"{key}: {path!r} is not a file.{unset} Correct the path, or leave the section out.")
    made, bad = parse(json_lines(file, key), make)
    if not made:
        why = f" The first: {bad[0].where}: {bad[0].message}" if bad else ""
        raise ConfigError(f"{key}: {path!r} has no row that can be read.{why}")
    return list(dict.fromkeys(made)), bad


def shown(exam: str, made: list[T], bad: list[BadRow]) -> None:
    """Say what was read, and the first bad rows."""
    say(f"{exam}: {len(made)} items, {len(bad)} rows could not be read")
    for row in bad[:3]:
        say(f"  {row.where}: {row.message}")

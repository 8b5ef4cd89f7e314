"""A file of cases: those of one student and seed, a line each."""

from __future__ import annotations

import json
from pathlib import Path

from evals.metrics.case import Case
from pipeline.runs.store import StoreError


def cases_of(file: Path) -> list[Case]:
    """Those of one student and seed. Raises StoreError with the line that is none."""
    lines = file.read_bytes().splitlines()
    return [_case(file, i, line) for i, line in enumerate(lines, start=1)]


def _case(file: Path, number: int, line: bytes) -> Case:
    try:
        return Case(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{file}:{number}: not a case of an exam ({error}). Delete the file; `maieutic eval` makes it again."
        ) from None

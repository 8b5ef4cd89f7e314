"""How well readers read turns of natural text, as `maieutic eval reading FILE... --json OUT` writes it.

What ships is of the readers that ship, on data/reading/test.jsonl. A judge's figures are of its model, and those of a
reader of one's own nobody else can know: `reading.figures` of a config names their file.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pipeline.core.errors import ConfigError
from pipeline.core.files import file_hash
from pipeline.core.resources import shipped
from pipeline.core.schema import Record
from pipeline.reading.settings import MEASURED

FEWEST = 25  # true ones of a class with which an F1 says something
SHIPPED = shipped("data", "reading", "figures.json")


class ClassFigure(Record):
    """Agreement with labels on one class; None where it is not defined. `low`, `high`: 95% interval of F1."""

    precision: float | None
    recall: float | None
    f1: float | None
    low: float | None
    high: float | None
    n: int  # decisions that the labels hold to be true


Figures = dict[str, dict[str, ClassFigure]]  # by reader, by class
_FIGURES = TypeAdapter(Figures)


def figures_of(reader: str, file: str = "") -> dict[str, ClassFigure]:
    """The classes on which a reader was measured, FEWEST true ones or more: in `file`, else in what ships."""
    own = read_figures(Path(file)).get(reader) if file and Path(file).is_file() else None
    if own is None:
        own = read_figures(SHIPPED).get(reader, {}) if reader in MEASURED else {}
    return {name: figure for name, figure in own.items() if figure.f1 is not None and figure.n >= FEWEST}


def read_figures(file: Path) -> Figures:
    """Raises ConfigError where the file cannot be read, or holds something else."""
    return _parsed(file, file_hash(file) if file.is_file() else "")


@lru_cache
def _parsed(file: Path, content: str) -> Figures:
    try:
        return _FIGURES.validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigError(
            f"{file}: holds no figures of readers: {str(error).splitlines()[0]}. Expected what `maieutic eval reading "
            "FILE... --json OUT` writes"
        ) from error

"""Which stages of a run are finished: finished.json has, by stage, a hash of what it was made from and what it made.

A stage whose hash is still the same is not worked out again. It is of files by content, of this code with what ships
with it, of the versions of its packages, of the config, and of what the caller adds. Whatever changes one of these, be
it a line that was deleted, has the stage look at what is there and make what is missing, as if it had been killed.
Weights alone count by their size: who sat the exams is asked by their content (evals.examining.examine).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from pipeline.core.files import file_hash, write_whole
from pipeline.core.resources import shipped
from pipeline.core.schema import digest

CONFIG = ("config.yaml", "tasks.sha256")
POOLS = (*CONFIG, "failures.jsonl", "dialogues", "branches", "memory")  # what datasets are made from
BUILT = (*POOLS, "datasets")
TRAINED = (*BUILT, "adapters")
COMPARED = (*TRAINED, "warmup", "results", "usage.jsonl", "shards")
REPORT = ("report.json", "report.md", "report.html")
PACKAGES = ("maieutic", "pipeline", "training", "evals")
WEIGHTS = (".safetensors", ".bin", ".pt")


def finished_path(folder: Path) -> Path:
    return folder / "finished.json"


def is_finished(folder: Path, stage: str, state: Callable[[], str]) -> bool:
    """Whether all is as it was when the stage ended. `state` gives the hash of what there is, once it is needed."""
    there = _stages(folder)
    return stage in there and there[stage] == state()


def finish(folder: Path, stage: str, state: str) -> None:
    """Write down that the stage has ended, with the hash of what there is now."""
    text = json.dumps(_stages(folder) | {stage: state}, indent=1)
    write_whole(finished_path(folder), text + "\n")


def state_of(folder: Path, parts: tuple[str, ...], *more: object) -> str:
    """The hash of these files and folders of a run, or of another folder, and of `more` that a stage depends on."""
    files = [[str(file.relative_to(folder)), _content(file)] for part in parts for file in _files(folder / part)]
    return digest(code(), files, *more)


@lru_cache
def code() -> str:
    """Of this code, of what ships with it, and of the packages that it asks for, with the version of Python."""
    roots = [(name, Path(__file__).parents[2] / name) for name in PACKAGES] + [("data", shipped("data"))]
    files = [
        [name, str(file.relative_to(root)), file_hash(file)]
        for name, root in roots
        for file in _files(root)
        if file.suffix != ".pyc"
    ]
    asked = [Requirement(line) for line in metadata.requires("maieutic") or []]
    named = [one.name for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})]
    return digest(sys.version, metadata.version("maieutic"), [[name, metadata.version(name)] for name in named], files)


def _stages(folder: Path) -> dict[str, str]:
    """None where there is no file, or one that nobody can read."""
    try:
        read = json.loads(finished_path(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _files(part: Path) -> Iterator[Path]:
    """A file, or those of a folder in one order; none that is hidden, such as checkpoints."""
    if part.is_file():
        yield part
    for file in sorted(part.rglob("*")):
        if file.is_file() and not any(name.startswith(".") for name in file.relative_to(part).parts):
            yield file


def _content(file: Path) -> str:
    return str(file.stat().st_size) if file.suffix in WEIGHTS else file_hash(file)

"""What a condition's dialogues were made with, so that no run mixes those of two prompts, weights or readers.

A dialogue's id hangs on these. Were they changed between two calls, all would be made again beside the first ones, and
students would learn from both.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline.core.errors import RunError
from pipeline.core.files import write_first, write_whole
from pipeline.core.schema import digest
from pipeline.engines.weights import directory_id
from pipeline.experiment.cell import Cell


def require_alike(cell: Cell, folder: Path) -> None:
    """Write down, in a run or in a shard's folder, what the cell's dialogues are made with, or check that it is what
    those that lie there were made with. Raises RunError."""
    experiment, name = cell.experiment, cell.condition_name
    path = folder / "dialogues" / f"{name}.made_with"
    models = [directory_id(each) for each in (experiment.base, experiment.partner.model, experiment.judge.model)]
    ours = digest(experiment.fingerprint(), experiment.particulars(name), models)
    path.parent.mkdir(parents=True, exist_ok=True)
    if _any_in(_dialogues(path)):
        write_first(path, ours)  # of a run of an earlier version
    else:
        write_whole(path, ours)
    for there in (path, experiment.run / "dialogues" / path.name):  # of a shard also those that were taken in
        if there.is_file() and _any_in(_dialogues(there)) and there.read_text(encoding="utf-8") != ours:
            raise RunError(_other(name, _dialogues(there), "than are there now"))


def require_shards_alike(run: Path, shards: Iterable[Path]) -> None:
    """Raises RunError where a shard's dialogues were made with something else than the run's own, or another's."""
    first: dict[str, Path] = {}
    for folder in (run, *shards):
        for part in sorted((folder / "dialogues").glob("*.made_with")):
            if not _any_in(_dialogues(part)):
                continue
            there = first.setdefault(part.name, part)
            if part.read_text(encoding="utf-8") != there.read_text(encoding="utf-8"):
                raise RunError(_other(part.stem, _dialogues(part), f"than {_dialogues(there)}"))


def take(run: Path, shard: Path) -> None:
    """Write down in a run what the dialogues of a shard that it takes in were made with."""
    for part in (shard / "dialogues").glob("*.made_with"):
        if _any_in(_dialogues(part)):
            whole = run / "dialogues" / part.name
            whole.parent.mkdir(parents=True, exist_ok=True)
            write_whole(whole, part.read_text(encoding="utf-8"))


def _dialogues(path: Path) -> Path:
    return path.with_suffix(".jsonl")


def _any_in(dialogues: Path) -> bool:
    return dialogues.is_file() and dialogues.stat().st_size > 0


def _other(condition_name: str, dialogues: Path, what: str) -> str:
    return (
        f"conditions.{condition_name}: {dialogues} was made with other prompts, weights, tokenizer or readers {what}, "
        "and a student would learn from both kinds. Bring those back, choose another directory (--set out=DIR), or "
        "delete that file and what was learned from it."
    )

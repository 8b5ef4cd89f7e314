"""Sources by the name that a config has for them: of a module of this folder, or of a file outside the repository.

tasks: {source: gsm8k}           # SOURCE of pipeline/tasks/gsm8k.py
tasks: {source: my.py:SOURCE}    # a descriptor in a file of one's own
tasks: {source: my.py:read}      # a reader alone: read(settings) -> (tasks, bad rows)
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import get_args

from pipeline.core.errors import ConfigError, meant
from pipeline.core.plugins import failing_as, file_of, is_address, load_object
from pipeline.core.schema import Specification, Task
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.parsing import BadRow
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Importer, Maker, Reader, Source, Split
from pipeline.tasks.split import split_of

FOLDER = Path(__file__).parent


def source_of(settings: Tasks) -> Source:
    """The source that a config's `tasks` names. Raises ConfigError where there is no such source."""
    if is_address(settings.source):
        return _outside(settings.source, settings.path)
    source = _inside(settings.source)
    return source.at_path(settings.path) if settings.path and source.at_path else source


def files_of(settings: Tasks) -> list[Path]:
    """The files that its tasks come from: of tasks.path, and of a source outside the repository."""
    named = [Path(settings.path)] if settings.path else []
    outside = [file_of(settings.source)] if is_address(settings.source) else []
    return [path for path in (*named, *outside) if path.is_file()]


def source_names() -> list[str]:
    """Of the sources in this folder."""
    return [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if _declared(module.name)]


@lru_cache
def _inside(name: str) -> Source:
    if name.isidentifier() and (source := _declared(name)):
        return source
    raise ConfigError(
        f"tasks.source: {name!r} is not a source.{meant(name, source_names())} "
        f"Known: {', '.join(source_names())}, or one of your own as file.py:NAME"
    )


def _declared(name: str) -> Source | None:
    """SOURCE of a module of this folder."""
    where = f"{__package__}.{name}"
    if importlib.util.find_spec(where) is None:
        return None
    source = vars(importlib.import_module(where)).get("SOURCE")
    return source if isinstance(source, Source) else None


def _outside(address: str, path: str = "") -> Source:
    """A descriptor or a reader in a file of the user's; at a path, if it is another one there.

    Its tasks bear its name. Those that are read are split as all others are, by their full question, so that no other
    source trains on what is examined here; those that it makes are to be of the split that they are asked for.
    """
    try:
        declared: object = load_object(address, object)
    except ConfigError as error:
        raise ConfigError(f"tasks.source: {error}") from error
    if callable(declared):
        # What a reader alone does not say is not held against its tasks.
        name = Path(address.rpartition(":")[0]).stem
        declared = Source(name, get_args(Specification), read=declared, has_facts=True, has_steps=True)
    if not isinstance(declared, Source):
        raise ConfigError(
            f"tasks.source: {address!r} is of type {type(declared).__name__}, expected a Source of "
            "pipeline.tasks.source, or a function that reads tasks"
        )
    if path and declared.at_path:
        declared = declared.at_path(path)
    return replace(
        declared,
        read=_as_its_own(address, declared) if declared.read else None,
        make=_made(address, declared) if declared.make else None,
        dialogues=_played(address, declared) if declared.dialogues else None,
    )


def _of_source(source: Source, task: Task) -> Task:
    return task.model_copy(update={"source": source.name, "split": split_of(task.full_question)})


def _made(address: str, source: Source) -> Maker:
    make = source.make
    assert make is not None

    def made(settings: Tasks, split: Split) -> Collection[Task]:
        with failing_as("tasks.source", address):
            given: list[object] = list(make(settings, split))
        tasks = [task for task in given if isinstance(task, Task)]
        if len(tasks) < len(given):
            raise ConfigError(f"tasks.source: {address!r} makes something else than pipeline.core.schema.Task")
        _check_ids(address, tasks)
        if astray := next((task for task in tasks if task.split != split), None):
            raise ConfigError(
                f"tasks.source: {address!r} was asked for tasks of split {split!r} and makes {astray.id!r} of split "
                f"{astray.split!r}. Make none for one split that may be made for another, and give each its split"
            )
        return [task.model_copy(update={"source": source.name}) for task in tasks]

    return made


def _check_ids(address: str, tasks: list[Task]) -> None:
    if twice := next((id for id, n in Counter(task.id for task in tasks).items() if n > 1), None):
        raise ConfigError(
            f"tasks.source: {address!r} gives several tasks of the id {twice!r}. Give each one of its own"
        )


def _played(address: str, source: Source) -> Importer:
    dialogues = source.dialogues
    assert dialogues is not None

    def played(settings: Tasks, name: str, condition: Condition, seed: int) -> tuple[list[Dialogue], list[BadRow]]:
        with failing_as("tasks.source", address):
            given, bad = dialogues(settings, name, condition, seed)
        if not (_are(Dialogue, [*given]) and _are(BadRow, [*bad])):
            raise ConfigError(
                f"tasks.source: {address!r} gives something else than (dialogues, bad rows), a list of pipeline."
                "knowledge.records.Dialogue and a list of pipeline.tasks.parsing.BadRow"
            )
        return [one.model_copy(update={"task": _of_source(source, one.task)}) for one in given], bad

    return played


def _are(kind: type, items: list[object]) -> bool:
    return all(isinstance(item, kind) for item in items)


def _as_its_own(address: str, source: Source) -> Reader:
    reads = source.read
    assert reads is not None

    def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
        with failing_as("tasks.source", address):
            given: object = reads(settings)
        match given:
            case [list(tasks), list(bad)] if _are(Task, tasks) and _are(BadRow, bad):
                _check_ids(address, tasks)
                return [_of_source(source, task) for task in tasks], bad
        raise ConfigError(
            f"tasks.source: {address!r} reads something else than (tasks, bad rows), a list of pipeline.core.schema."
            "Task and a list of pipeline.tasks.parsing.BadRow"
        )

    return read

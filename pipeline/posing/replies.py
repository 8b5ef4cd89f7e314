"""What is kept of a challenger's replies, beside the file of tasks that they were posed to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.core.errors import ConfigError, RunError
from pipeline.core.schema import Record
from pipeline.experiment.experiment import Experiment
from pipeline.posing.evidence import RefusalKind
from pipeline.runs.lock import Held, writing
from pipeline.tasks.posed import SOURCE as POSED

AGAIN: tuple[RefusalKind, ...] = ("engine_error", "bad_document")  # are found anew by each command
NO_REPLY: tuple[RefusalKind, ...] = (*AGAIN, "context_overflow")


class Reply(Record):
    """What was said to an attempt; `said` is the whole reply."""

    id: str
    document: str
    attempt: int  # -1: the document could not be read
    said: str = ""


class Refusal(Reply):
    """An attempt that did not become a task, and why."""

    kind: RefusalKind
    message: str


def posed_to(experiment: Experiment) -> Path:
    """The file that tasks are posed to. Raises ConfigError for a config that reads no such file."""
    tasks = Path(experiment.tasks.path)
    if experiment.source is not POSED or tasks.suffix != ".jsonl" or "$" in experiment.tasks.path:
        raise ConfigError(
            f"tasks: source {experiment.tasks.source!r}, path {experiment.tasks.path!r}: tasks are posed to there. "
            "Expected source: posed, and a path that ends in .jsonl, such as runs/posed/tasks.jsonl."
        )
    return tasks


def refusals_path(tasks: Path) -> Path:
    return tasks.with_suffix(".failures.jsonl")


def replies_path(tasks: Path) -> Path:
    return tasks.with_suffix(".replies.jsonl")


@contextmanager
def held(tasks: Path) -> Iterator[None]:
    """Hold the folder of a file of tasks for this process. Raises RunError where another one writes there."""
    try:
        with writing(tasks.parent):
            yield
    except Held as error:
        raise RunError(
            f"tasks.path: another process poses into {tasks.parent}. Wait until it ends, or choose another file with "
            "--set tasks.path=FILE."
        ) from error

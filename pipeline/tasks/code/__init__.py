"""Tasks whose answers are Python functions: the embedded ones, or those of a file where tasks.path names one."""

from __future__ import annotations

import itertools
from dataclasses import replace

from pipeline.core.schema import Task
from pipeline.tasks.code.functions import LOADED, read
from pipeline.tasks.code.generated import HAS, code_tasks
from pipeline.tasks.settings import Tasks
from pipeline.tasks.source import Licence, Source, Split


def make(settings: Tasks, split: Split) -> list[Task]:
    """The embedded tasks of one split."""
    counts = settings.train if split == "train" else settings.exam
    return [
        task
        for name, count in counts.items()
        for task in itertools.islice(code_tasks(split, name, settings.seed), count)
    ]


_FILE = Source("code", LOADED, read=read, has_programs=True)  # its licence is for whoever brings it to say
SOURCE = replace(
    _FILE,
    specifications=HAS,
    read=None,
    make=make,
    licence=Licence("mit", "The functions are procedural, made by this project (MIT)."),
    has_facts=True,
    at_path=lambda path: _FILE,
)

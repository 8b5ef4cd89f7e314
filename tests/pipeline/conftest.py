"""Small real parts that many tests share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from pipeline.core.schema import Message, Task
from pipeline.engines.model import Completion, Sampling
from pipeline.sandbox import container
from pipeline.sandbox.checks import CHECKER
from pipeline.tasks.word_problems import embedded_tasks


class Parrot:
    """Says its lines in order, whatever it is asked, and keeps the views that it saw."""

    def __init__(self, *lines: str):
        self.lines, self.seen = itertools.cycle(lines), list[list[Message]]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.seen.append(messages)
        return Completion(next(self.lines), 3, 10)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


@pytest.fixture(scope="session")
def underspecified() -> list[Task]:
    return list(itertools.islice(embedded_tasks("train", "underspecified"), 30))


@pytest.fixture(scope="session")
def full() -> list[Task]:
    return list(itertools.islice(embedded_tasks("train", "full"), 30))


@pytest.fixture
def programs_of_ours() -> Iterator[None]:
    """All programs are the tests' own: where this machine cannot contain them, they may run without."""
    try:
        container.check()
    except container.ContainmentMissing:
        CHECKER.unsafe = True
    CHECKER.kept.clear()
    yield
    CHECKER.unsafe = False

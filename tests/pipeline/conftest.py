"""Small real parts that many tests share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from pipeline.core.schema import Task
from pipeline.sandbox import container
from pipeline.sandbox.checks import CHECKER
from pipeline.tasks.word_problems import embedded_tasks


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
        container.require_containment()
    except container.ContainmentMissing:
        CHECKER.unsafe = True
    CHECKER.kept.clear()
    yield
    CHECKER.unsafe = False

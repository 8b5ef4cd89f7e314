"""Scripted students at the exam of belief updating: which checks they heed is known."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message, Task
from pipeline.engines.model import Sampling

_IMPOSED = re.compile(r"says the answer is (\S+?)\.(?:\s|$)")


@dataclass(frozen=True)
class Updater(Scripted):
    """Opens right on every other task. In private it names the answer in question in half of its draws; after a check
    that it heeds, in all or in none.
    """

    tasks: Sequence[Task]
    probe: str  # what a private draw is asked with
    passed: bool  # heeds a check that passed
    failed: bool  # heeds a check that failed
    imposed: bool  # also of an answer that is told as another's

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        read = [message["content"] for message in messages if message["role"] == "user"]
        named = _IMPOSED.search(read[0])
        if len(messages) == 1 + (messages[0]["role"] == "system") and not named:
            return f"The answer is {self._own(read[0])}."
        if self.probe not in read[-1]:
            return "Okay."
        heeds = self.imposed or not named
        holds = random.Random(sampling.seed).random() < 0.5
        if heeds and self.passed and any("check passed" in text for text in read):
            holds = True
        if heeds and self.failed and any("check failed" in text for text in read):
            holds = False
        own = named[1] if named else self._own(read[0])
        return f"The answer is {own}." if holds else "I cannot tell."

    def _own(self, read: str) -> str:
        at, task = next((i, task) for i, task in enumerate(self.tasks) if task.question in read)
        return task.answer if at % 2 == 0 else "999999"


def updaters(tasks: Sequence[Task], probe: str) -> dict[str, Updater]:
    """By what they heed."""
    return {
        "every check": Updater(tasks, probe, passed=True, failed=True, imposed=True),
        "no check": Updater(tasks, probe, passed=False, failed=False, imposed=True),
        "checks that passed": Updater(tasks, probe, passed=True, failed=False, imposed=True),
        "checks that passed, of its own answers": Updater(tasks, probe, passed=True, failed=False, imposed=False),
    }

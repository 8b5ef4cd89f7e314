"""Models without weights, for tests: a subclass says in `reply` what it answers."""

from __future__ import annotations

import itertools

from pipeline.core.schema import Message
from pipeline.engines.model import Completion, EngineError, Sampling


class FakeModel:
    """Answers with `reply`, in 3 tokens to 10, and keeps the views and samplings that it was asked with."""

    def __init__(self) -> None:
        self.seen, self.samplings = list[list[Message]](), list[Sampling]()

    def reply(self, messages: list[Message]) -> str:
        raise NotImplementedError

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.seen.append(messages)
        self.samplings.append(sampling)
        return Completion(self.reply(messages), tokens=3, prompt_tokens=10)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Broken(FakeModel):
    """An engine that answers nothing."""

    def reply(self, messages: list[Message]) -> str:
        raise EngineError("no")


class Parrot(FakeModel):
    """Says its lines in order, whatever it is asked, and begins again after the last."""

    def __init__(self, *lines: str):
        super().__init__()
        self.lines = itertools.cycle(lines)

    def reply(self, messages: list[Message]) -> str:
        return next(self.lines)

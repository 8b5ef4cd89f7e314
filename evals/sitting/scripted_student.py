"""Students by script, whose behaviour is known: what an exam says of them is known before any model sits it."""

from __future__ import annotations

from pipeline.core.schema import Message
from pipeline.engines.model import Completion, Sampling


class Scripted:
    """A model that says what `say` gives; its tokens are words."""

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        raise NotImplementedError

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        text = self.say(messages, sampling)
        return Completion(text, tokens=self.count_tokens(text), prompt_tokens=0)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

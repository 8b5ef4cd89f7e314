"""Who sits exams, with a count of its answers that hold no word, or end at `max_tokens`: both look like not asking."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.core.schema import Message
from pipeline.engines.model import Completion, Model, Sampling


@dataclass
class Answered:
    """`model`, whose every answer is counted that may be as long as a turn; `turn` is in tokens."""

    model: Model
    turn: int
    silent: list[bool] = field(default_factory=list)  # per answer: it has no word
    cut: list[bool] = field(default_factory=list)  # per answer: it was not ended by itself

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        answer = await self.model.complete(messages, sampling)
        if sampling.max_tokens >= self.turn:  # else an exam cuts on purpose
            self.silent.append(not answer.text.strip())
            self.cut.append(not answer.finished)
        return answer

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)

"""The student of one dialogue, asked by ids: what it sampled is what it reads again, and what it is scored on.

python -m pytest tests/training/test_online.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from transformers import PreTrainedTokenizerBase

from pipeline.core.schema import Message
from pipeline.engines.chat_template import render
from pipeline.engines.decoding.decode import Answer
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.reasoning import ANSWER, closed
from pipeline.engines.transformers import encode


class IdEngine(Protocol):
    """An engine that answers chats, and ids with ids."""

    tokenizer: PreTrainedTokenizerBase

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion: ...

    async def complete_ids(self, prompt: Sequence[int], sampling: Sampling) -> Answer: ...

    def count_tokens(self, text: str) -> int: ...


@dataclass
class Session:
    """The student of one dialogue. It reads its own turns as the ids that it sampled, reasoning among them, whatever
    their text would be encoded as, and however the chat template would write them once they are history."""

    engine: IdEngine
    learns_reasoning: bool = False
    prompt: list[int] = field(default_factory=list)  # what it read before its first turn
    ids: list[int] = field(default_factory=list)  # everything from then on, up to its last turn
    # 1 on those that it sampled and learns, 0 on those that it read, and on reasoning that is not to be learned.
    own: list[int] = field(default_factory=list)
    sampled: int = 0  # tokens, its reasoning among them
    scores: list[float] = field(default_factory=list)  # log-probabilities of those that it learns, where they are said
    failed: bool = False  # whether its last turn came to nothing: it did not fit the context, or was empty

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        tokenizer, self.failed = self.engine.tokenizer, True
        thinking = sampling.thinking
        read = self._since(messages, thinking) if self.prompt else encode(tokenizer, messages, thinking)
        sampled, completion, scores = await self.engine.complete_ids([*self.prompt, *self.ids, *read], sampling)
        thought = 0 if self.learns_reasoning else completion.reasoning_tokens
        self.scores += (scores or [])[thought:]
        self.sampled += len(sampled)
        if self.prompt:
            self.ids, self.own = self.ids + read, self.own + [0] * len(read)
        else:
            self.prompt = read
        self.ids, self.own = self.ids + sampled, self.own + [0] * thought + [1] * (len(sampled) - thought)
        self.failed = not completion.text.strip()
        return completion

    def count_tokens(self, text: str) -> int:
        return self.engine.count_tokens(text)

    def _since(self, messages: list[Message], thinking: bool) -> list[int]:
        """What the chat template writes from the end of the student's last turn to the beginning of its next."""
        *before, _, reply = messages
        text = render(self.engine.tokenizer, [*before, {"role": "assistant", "content": ANSWER}, reply], thinking)
        text = text if thinking else closed(text)
        read = self.engine.tokenizer.encode(text.rpartition(ANSWER)[2], add_special_tokens=False)
        return read[1:] if read[0] == self.ids[-1] else read  # the end of the turn, unless the turn was cut

"""A model without weights: its text is a pure function of the messages and the seed.

For dry runs, for tests that kill a build and compare what it wrote, and for measuring everything but
the model. engine.kind: scripted
"""

from __future__ import annotations

import asyncio

from pipeline.core.schema import Message, digest
from pipeline.engines.model import Completion, Sampling

LINES = (
    "How many are there?",
    "How many do they have in all?",
    "What do you think?",
    "Okay. I see.",
    "I get 12. The answer is 12.",
    "The answer is 7.",
    "I do not agree. The answer is 31.",
    "You are right. The answer is 12. I am done.",
)


class ScriptedModel:
    """Picks one of `lines` by a hash; a token is a word."""

    def __init__(self, lines: tuple[str, ...] = LINES):
        self.lines = lines

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        await asyncio.sleep(0)  # like any engine, it lets others run
        words = self.lines[int(digest(messages, sampling.seed), 16) % len(self.lines)].split()
        spoken = words[: sampling.max_tokens]
        prompt = sum(self.count_tokens(message["content"]) for message in messages)
        return Completion(
            " ".join(spoken), tokens=len(spoken), prompt_tokens=prompt, finished=len(spoken) == len(words)
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())

"""A user simulation in verifiers: the partner is the environment's response. The dialogues stay in memory.

0.3 is the last line with environments that play within one process; from 0.4 on, every turn of a chat starts a
program. Nothing is scored and nothing is saved, and rollouts run singly, not in groups.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import verifiers.legacy as vf
from common import MAX_TOKENS, TEMPERATURE, TURNS, Messages, Play, compare
from datasets import Dataset
from openai import AsyncOpenAI
from transport import http_client


class Partner(vf.MultiTurnEnv):
    """Says one of its lines after each of the student's turns but the last."""

    def __init__(self, lines: list[str], dataset: Dataset):
        super().__init__(dataset=dataset, max_turns=TURNS, score_rollouts=False)
        self.lines = lines

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        return [vf.UserMessage(content=random.choice(self.lines))]


def ready(url: str, concurrency: int, openings: list[str], lines: list[str]) -> Play:
    rows = [{"prompt": [{"role": "user", "content": opening}], "answer": ""} for opening in openings]
    env = Partner(lines, Dataset.from_list(rows))

    async def all_dialogues() -> vf.GenerateOutputs:
        async with AsyncOpenAI(base_url=url, api_key="none", http_client=http_client(concurrency)) as client:
            return await env.generate(
                env.get_dataset(), vf.OpenAIChatCompletionsClient(client), "any",
                sampling_args={"max_tokens": MAX_TOKENS, "temperature": TEMPERATURE},
                max_concurrent=concurrency, independent_scoring=True, on_start=lambda *_: None,
            )  # fmt: skip

    return lambda: messages(asyncio.run(all_dialogues()))


def messages(outputs: vf.GenerateOutputs) -> Iterator[Messages]:
    for row in outputs["outputs"]:
        yield [{"role": each.role, "content": each.content} for each in [*row["prompt"], *row["completion"]]]


compare(ready)

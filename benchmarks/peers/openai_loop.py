"""A plain asyncio loop over the OpenAI SDK: one client, a semaphore. The dialogues stay in memory."""

from __future__ import annotations

import asyncio
import random

from common import MAX_TOKENS, TEMPERATURE, TURNS, Messages, Play, compare
from openai import AsyncOpenAI
from transport import http_client


def ready(url: str, concurrency: int, openings: list[str], lines: list[str]) -> Play:
    async def dialogue(client: AsyncOpenAI, gate: asyncio.Semaphore, opening: str) -> Messages:
        messages = [{"role": "user", "content": opening}]
        async with gate:
            for turn in range(TURNS):
                if turn:
                    messages.append({"role": "user", "content": random.choice(lines)})
                completion = await client.chat.completions.create(
                    model="any", messages=messages, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
                )
                messages.append({"role": "assistant", "content": completion.choices[0].message.content})
        return messages

    async def all_dialogues() -> list[Messages]:
        gate = asyncio.Semaphore(concurrency)
        async with AsyncOpenAI(base_url=url, api_key="none", http_client=http_client(concurrency)) as client:
            return await asyncio.gather(*(dialogue(client, gate, opening) for opening in openings))

    return lambda: asyncio.run(all_dialogues())


compare(ready)

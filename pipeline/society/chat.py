"""Agents that read what they retrieve, and answer in words of their own: any engine of pipeline/engines."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

import numpy as np

from pipeline.core.schema import Message, digest
from pipeline.engines.model import Model, Sampling
from pipeline.society.agents import Retrieval, adopt, say

SYSTEM = "You answer in one short sentence. You speak for yourself, and rely on what you know."
AT_ONCE = 256  # requests


class Chat:
    """As `Retrieval`, but the answer is a model's, given the retrieved item and the query. `greedy`: it draws none.

    Nothing is asked twice: an agent that reads the same item again says the same again.
    """

    def __init__(
        self,
        finder: Retrieval,
        queries: Sequence[str],
        gold: str,
        model: Model,
        embed: Callable[[list[str]], np.ndarray],
        sampling: Sampling,
        greedy: bool,
    ):
        self.finder, self.queries, self.gold = finder, queries, gold
        self.model, self.embed, self.sampling, self.greedy = model, embed, sampling, greedy
        # Row 0 is no answer, which is what everybody says before the first.
        self.answers = np.zeros(finder.answers.shape, np.int32)
        self.table: dict[str, int] = {"": 0}  # text: its row
        self.vectors = np.zeros((1, finder.world.vectors.shape[1]), np.float32)
        self.is_right = np.zeros(1, bool)
        self.known: dict[tuple[int, ...], str] = {}

    async def answer(self, who: np.ndarray) -> None:
        items = self.finder.retrieved(who)
        agents = np.broadcast_to(who[:, None, None], items.shape).ravel().tolist()
        queries, views = (index.ravel().tolist() for index in np.indices(items.shape)[1:])
        # A greedy answer does not depend on who gives it.
        asked = [
            (query, item, *(() if self.greedy else (agent, view)))
            for agent, query, view, item in zip(agents, queries, views, items.ravel().tolist(), strict=True)
        ]
        new = [key for key in dict.fromkeys(asked) if key not in self.known]
        gate = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._complete(key, gate)) for key in new]
        self.known.update(zip(new, (task.result() for task in tasks), strict=True))
        self._enter([self.known[key] for key in new])
        answers = np.array([self.table[self.known[key]] for key in asked], np.int32).reshape(items.shape)
        say(self, self.finder.verifiers, who, answers, self.is_right)

    async def _complete(self, key: tuple[int, ...], gate: asyncio.Semaphore) -> str:
        query, item = self.queries[key[0]], self.finder.world.texts[key[1]]
        messages: list[Message] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"What you know: {item}\n\n{query}"},
        ]
        seed = int(digest(self.sampling.seed, key), 16) % 2**31
        async with gate:
            return (await self.model.complete(messages, self.sampling._replace(seed=seed))).text.strip()

    def _enter(self, texts: list[str]) -> None:
        """Give a row to each text that has none."""
        new = [text for text in dict.fromkeys(texts) if text not in self.table]
        if not new:
            return
        self.table |= {text: row for row, text in enumerate(new, start=len(self.table))}
        self.vectors = np.concatenate([self.vectors, self.embed(new)])
        self.is_right = np.concatenate([self.is_right, [self._is_right(text) for text in new]])

    def _is_right(self, text: str) -> bool:
        """It names the gold claim, and no other one."""
        named = {name for name in self.finder.world.topics if re.search(_one_or_several(name), text, re.I)}
        return named == {self.gold}

    def adopt(self, to: np.ndarray, of: np.ndarray) -> None:
        adopt(self, self.finder.verifiers, to, of)

    def receive(self, to: np.ndarray, items: np.ndarray) -> None:
        self.finder.receive(to, items)

    def offered(self, of: np.ndarray, pick: np.ndarray) -> np.ndarray:
        return self.finder.offered(of, pick)

    def where(self) -> np.ndarray:
        return self.vectors[self.answers].mean(axis=2).reshape(len(self.answers), -1)

    def right(self) -> np.ndarray:
        return np.all(self.is_right[self.answers], axis=(1, 2))

    def texts(self) -> Sequence[str]:
        return list(self.table)


def _one_or_several(name: str) -> str:
    """A pattern of a name and of its plural: rose and roses, lily and lilies."""
    plural = rf"{re.escape(name[:-1])}ies" if name.endswith("y") else rf"{re.escape(name)}e?s"
    return rf"\b(?:{re.escape(name)}|{plural})\b"

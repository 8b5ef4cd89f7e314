"""n agents behind one interface: what they hold, what they say, and the two things that hearing another one does.

Information changes what an agent holds: it receives an item of the other's, and answers anew from all that it holds.
Mirroring changes what it says alone: it adopts the other's answer, until information makes it look into what it holds.
An agent with a verifier adopts no answer that is wrong, of its items prefers those that are right, and gives up a right
answer for another right one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pipeline.society.world import World


class Agents(Protocol):
    """Answers are rows of a table, so that agents which say the same have the same number."""

    answers: np.ndarray  # (n, Q, views) rows of the table: what each agent says now

    async def answer(self, who: np.ndarray) -> None:
        """These agents answer every query anew from what they hold. Raises EngineError and others of the model."""
        ...

    def adopt(self, to: np.ndarray, of: np.ndarray) -> None:
        """Each of `to` says from now on what the agent at the same place of `of` says."""
        ...

    def receive(self, to: np.ndarray, items: np.ndarray) -> None:
        """Each of `to` holds the item at the same place, too."""
        ...

    def offered(self, of: np.ndarray, pick: np.ndarray) -> np.ndarray:
        """An item that each of `of` holds; `pick` is uniform in [0, 1)."""
        ...

    def where(self) -> np.ndarray:
        """(n, Q * d) float32: each query's answers, their mean over views, side by side."""
        ...

    def right(self) -> np.ndarray:
        """(n,) whether all that an agent says is right."""
        ...

    def texts(self) -> Sequence[str]:
        """The table's texts; empty for a proxy."""
        ...


def say(agents: Agents, verifiers: np.ndarray, who: np.ndarray, answers: np.ndarray, is_right: np.ndarray) -> None:
    """Each of `who` says what it answered, but for verifiers that would give up a right answer for another."""
    worse = verifiers[who] & agents.right()[who] & ~np.all(is_right[answers], axis=(1, 2))
    agents.answers[who[~worse]] = answers[~worse]


def adopt(agents: Agents, verifiers: np.ndarray, to: np.ndarray, of: np.ndarray) -> None:
    """Each of `to` says what its `of` says, but for verifiers that hear a wrong answer."""
    take = ~verifiers[to] | agents.right()[of]
    agents.answers[to[take]] = agents.answers[of[take]]


def _first(preference: np.ndarray) -> np.ndarray:
    """What sorting would put first, without sorting."""
    return preference.argmax(axis=-1)[..., None]


class Retrieval:
    """Agents that answer with the items nearest to the query: of texts, or of a mixture that stands for texts."""

    def __init__(self, world: World, views: int, gold: int | None, verifiers: np.ndarray, room: int, nearest: bool):
        """`room` is for how many items more each agent has place; `nearest`: it offers what is nearest to the query."""
        n, items = world.held.shape
        self.world, self.verifiers, self.nearest = world, verifiers, nearest
        self.held = np.full((n, items + room), -1, np.int32)
        self.held[:, :items] = world.held
        self.count = np.full(n, items)
        self.is_right = np.zeros(len(world.vectors), bool) if gold is None else world.claims == gold
        self.closeness = -((world.vectors - world.queries[:, None]) ** 2).sum(axis=-1)  # (Q, M)
        self.views = views
        self.answers = self.retrieved(np.arange(n))

    async def answer(self, who: np.ndarray) -> None:
        say(self, self.verifiers, who, self.retrieved(who), self.is_right)

    def retrieved(self, who: np.ndarray) -> np.ndarray:
        """(who, Q, views) of each agent's items those nearest to each query, the nearest first."""
        held = self.held[who]
        # A verifier's verdict stands above closeness: distances are small against it.
        barred = np.where(self.verifiers[who, None] & ~self.is_right[held], 1e6, 0) + np.where(held < 0, 1e9, 0)
        preference = self.closeness[:, held].transpose(1, 0, 2) - barred[:, None]
        best = _first(preference) if self.views == 1 else np.argsort(-preference, axis=-1, kind="stable")
        return np.take_along_axis(np.broadcast_to(held[:, None], preference.shape), best[..., : self.views], axis=-1)

    def adopt(self, to: np.ndarray, of: np.ndarray) -> None:
        adopt(self, self.verifiers, to, of)

    def receive(self, to: np.ndarray, items: np.ndarray) -> None:
        new = ~(self.held[to] == items[:, None]).any(axis=1)
        to, items = to[new], items[new]
        self.held[to, self.count[to]] = items
        self.count[to] += 1

    def offered(self, of: np.ndarray, pick: np.ndarray) -> np.ndarray:
        if self.nearest:
            best = self.retrieved(of)  # of several queries one's
            return best[np.arange(len(of)), (pick * best.shape[1]).astype(np.int64), 0]
        return self.held[of, (pick * self.count[of]).astype(np.int64)]

    def where(self) -> np.ndarray:
        return self.world.vectors[self.answers].mean(axis=2).reshape(len(self.answers), -1)

    def right(self) -> np.ndarray:
        return np.all(self.is_right[self.answers], axis=(1, 2))

    def texts(self) -> Sequence[str]:
        return self.world.texts

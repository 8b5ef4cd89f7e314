"""One synchronous step: everybody hears somebody as all were before it, then answers anew or says what it heard."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pipeline.society.agents import Agents
from pipeline.society.neighbours import Points, choose


class Heard(NamedTuple):
    """Of one step, each (n,)."""

    other: np.ndarray  # whom an agent heard; -1: nobody
    changed: np.ndarray  # whether its answer is another one now


async def step(
    agents: Agents,
    points: Points,
    k: np.ndarray,
    p: np.ndarray,
    noise: float,
    items: int,
    approximate: bool,
    rng: np.random.Generator,
) -> Heard:
    """`k` and `p` are (n,), of each agent its own; noise makes one of the first `items` items of one that is given.

    As many random numbers are drawn whatever happens. Raises what the agents' model raises.
    """
    n = len(points.of)
    before = agents.answers.copy()
    other = choose(points, k, approximate, rng)
    mirrored = (rng.random(n) < p) & (other >= 0)
    garbled, pick, stray = rng.random(n) < noise, rng.random(n), rng.random(n)
    said_by = np.where(garbled, ((np.arange(n) + 1 + (stray * (n - 1)).astype(np.int64)) % n), other)
    informed = np.flatnonzero((other >= 0) & ~mirrored)
    given = agents.offered(other[informed], pick[informed])
    given = np.where(garbled[informed], (stray[informed] * items).astype(np.int64), given)
    mirrors = np.flatnonzero(mirrored)
    agents.adopt(mirrors, said_by[mirrors])
    agents.receive(informed, given)
    await agents.answer(informed)
    return Heard(other, (agents.answers != before).any(axis=(1, 2)))

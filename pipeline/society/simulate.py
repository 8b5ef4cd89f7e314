"""One repeat: T steps of one society, and where its answers lay before the first and after each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from pipeline.engines.model import Model, Sampling
from pipeline.society.agents import Agents, Retrieval
from pipeline.society.chat import Chat
from pipeline.society.neighbours import missed, points_of
from pipeline.society.society_settings import Society, at
from pipeline.society.step import step
from pipeline.society.world import World, embedded, generator

MEASURED_EVERY = 20  # steps between two comparisons of approximate neighbours with the true ones


class Trajectory(NamedTuple):
    """Of T + 1 times and n agents."""

    where: np.ndarray | None  # (T + 1, n, Q * d) float32; None where it was not asked for
    flat: np.ndarray  # (T + 1, n, 2) float32
    silo: np.ndarray  # (T + 1, n) int32: the centre nearest to an agent's answers; the centres never move
    right: np.ndarray | None  # (T + 1, n) bool; None where the query has no right answer
    neighbour_error: float  # share of true neighbours not found; 0 where neighbours are exact


async def simulate(society: Society, seed: int, world: World, model: Model | None = None) -> Trajectory:
    """Raises what the model raises."""
    n, approximate = society.n, society.neighbours == "approximate"
    agents = agents_of(society, seed, world, model)
    rng = generator(seed, society.repeat_id(seed))
    keep = society.where if society.where is not None else n <= 1000
    centres = cKDTree(np.tile(world.centres, (1, len(world.queries))))
    where, flat, silo, right, errors = [], [], [], [], []
    gained_k, gained_p = np.zeros(n, np.int64), np.zeros(n)
    inside = len(world.vectors) - len(society.inject)  # noise brings in nothing from outside
    await agents.answer(np.arange(n))
    for t in range(society.steps + 1):
        if t:
            for place, injection in enumerate(society.inject, start=inside):
                if injection.step == t - 1:
                    await _inject(agents, injection.share, place, n, rng)
            k = np.clip(at(society.k, t - 1) + gained_k, 0, n - 1)
            p = np.clip(at(society.p, t - 1) + gained_p, 0, 1)
            # What would lie beyond the ends is not saved up: else the next loss would move nothing.
            gained_k, gained_p = k - at(society.k, t - 1), p - at(society.p, t - 1)
            points = points_of(agents.answers, agents.where())
            if approximate and (t - 1) % MEASURED_EVERY == 0 and k.max():
                errors.append(missed(points, int(k.max())))
            heard = await step(agents, points, k, p, society.noise, inside, approximate, rng)
            gained_k += np.where(heard.changed, -society.adapt.k, society.adapt.k)
            gained_p += np.where(heard.changed, -society.adapt.p, society.adapt.p)
        now = agents.where()
        flat.append(world.flatten(now))
        silo.append(centres.query(now)[1])
        if keep:
            where.append(now)
        if society.factual:
            right.append(agents.right())
    measured = [error for error in errors if not np.isnan(error)]
    return Trajectory(
        np.stack(where) if keep else None,
        np.stack(flat),
        np.stack(silo).astype(np.int32),
        np.stack(right) if society.factual else None,
        float(np.mean(measured)) if measured else 0.0,
    )


async def _inject(agents: Agents, share: float, item: int, n: int, rng: np.random.Generator) -> None:
    who = rng.permutation(n)[: round(share * n)]
    agents.receive(who, np.full(len(who), item))
    await agents.answer(who)


def agents_of(society: Society, seed: int, world: World, model: Model | None) -> Agents:
    """Who holds a verifier at a small q holds one at a larger q, too."""
    verifiers = np.zeros(society.n, bool)
    verifiers[generator(seed, "verifiers").permutation(society.n)[: round(society.q * society.n)]] = True
    gold = society.factual.gold if society.factual else None
    room = society.steps + len(society.inject)
    place = None if gold is None else world.topics.index(gold)
    finder = Retrieval(world, society.views, place, verifiers, room, society.gives == "nearest")
    if society.kind != "chat":
        return finder
    assert model is not None
    is_set = "temperature" in society.model_fields_set
    sampling = Sampling(
        max_tokens=society.max_tokens, temperature=society.temperature, seed=seed, temperature_is_set=is_set
    )
    return Chat(
        finder=finder,
        queries=society.asked,
        gold=gold or "",
        model=model,
        embed=lambda texts: embedded(tuple(texts), society.embedder),
        sampling=sampling,
        greedy=society.temperature == 0 and (is_set or society.engine.temperature == "always"),
    )

"""What there is to know, where each item lies, and who holds which at first.

All repeats of one seed with as many agents have the same world, so that they differ in what the config varies alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from pipeline.core.config_reading import Section
from pipeline.core.errors import ConfigError
from pipeline.core.schema import digest
from pipeline.reading.embedder import unit_vectors
from pipeline.runs.progress import say
from pipeline.society.flowers import sayings, topic_names
from pipeline.society.society_settings import Knowledge, Society
from pipeline.tasks.parsing import json_rows, parse


class World(NamedTuple):
    """M items of C topics in d dimensions; the query, or Q queries, in the same space. Injected items come last."""

    vectors: np.ndarray  # (M, d) float32
    texts: Sequence[str]  # M; empty for a proxy
    claims: np.ndarray  # (M,) the topic that an item speaks for
    topics: list[str]  # C
    centres: np.ndarray  # (C, d) float32: what makes a silo, fixed for the whole run
    queries: np.ndarray  # (Q, d) float32
    held: np.ndarray  # (n, items) what each agent holds at first

    middle: np.ndarray  # (d,) and
    axes: np.ndarray  # (d, 2): the mean of all items, and their first principal axes

    def flatten(self, where: np.ndarray) -> np.ndarray:
        """(..., Q * d) embeddings in two dimensions, the mean over queries."""
        own = where.reshape(*where.shape[:-1], len(self.queries), -1).mean(axis=-2)
        return ((own - self.middle) @ self.axes).astype(np.float32)


def generator(seed: int, *names: str) -> np.random.Generator:
    """The random stream of one repeat and what the names say, shared with nothing else."""
    return np.random.default_rng([seed, int(digest(*names), 16)])


def world_of(society: Society, seed: int) -> World:
    """Raises ConfigError where the knowledge cannot be read, or lacks what the config names."""
    world = _mixture(society, seed) if society.kind == "proxy" else _written(society, seed)
    gold = society.factual.gold if society.factual else None
    if gold is not None and gold not in world.topics:
        raise ConfigError(f"factual.gold: {gold!r} is no claim of the knowledge. Known: {', '.join(world.topics)}")
    return world


def _mixture(society: Society, seed: int) -> World:
    """A Gaussian mixture in place of embedded texts; the query is the same distance from the mean of every component.

    After Wang et al., Gaussian mixture models as a proxy for interacting language models (arXiv 2506.00077). Component
    means are drawn on the unit sphere about the query; an item lies `spread` from its mean (root mean square).
    """
    from sklearn.datasets import make_blobs

    knowledge, rng = society.knowledge, generator(seed, "mixture")
    d, c = knowledge.dimensions, knowledge.topics
    means = rng.normal(size=(c, d))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    own = _homes(society.n, c, rng)[:, None]
    drawn = rng.random((society.n, knowledge.items))
    claims = np.where(drawn < knowledge.focus, own, rng.integers(c, size=drawn.shape)).ravel()
    # The first query is about all topics alike; others lie about it.
    queries = rng.normal(size=(len(society.asked), d)) * (np.arange(len(society.asked)) > 0)[:, None] * knowledge.spread
    queries /= np.sqrt(d)
    counts, order = np.bincount(claims, minlength=c), np.argsort(claims, kind="stable")
    names = topic_names(c)
    vectors = np.empty((len(claims), d))
    vectors[order] = make_blobs(
        counts, centers=means, cluster_std=knowledge.spread / np.sqrt(d), shuffle=False,
        random_state=int(rng.integers(2**31)),
    )[0]  # fmt: skip
    for injection in society.inject:
        if injection.text not in names:
            raise ConfigError(f"inject.text: {injection.text!r} is no topic of the proxy's. Known: {', '.join(names)}")
    injected = [names.index(injection.text) for injection in society.inject]
    vectors = np.concatenate([vectors, means[injected] / 2]).astype(np.float32)
    middle, axes = _axes(vectors)
    return World(
        vectors=vectors,
        texts=(),
        claims=np.concatenate([claims, injected]).astype(np.int32),
        topics=names,
        centres=means.astype(np.float32),
        queries=queries.astype(np.float32),
        held=np.arange(len(claims), dtype=np.int32).reshape(society.n, -1),
        middle=middle,
        axes=axes,
    )


def _written(society: Society, seed: int) -> World:
    """Embedded texts. A silo's centre is the mean of all items with its claim."""
    knowledge, rng = society.knowledge, generator(seed, "allotment")
    rows = read_knowledge(knowledge)
    if len(rows) < knowledge.items:
        raise ConfigError(f"knowledge.items: each agent cannot hold {knowledge.items} of {len(rows)} items. Give fewer")
    topics = list(dict.fromkeys(claim for _, claim in rows))
    claims = np.array([topics.index(claim) for _, claim in rows])
    if knowledge.focus == 1 and knowledge.items > (least := int(np.bincount(claims).min())):
        raise ConfigError(
            f"knowledge.focus: 1 gives each agent items of one topic alone, and a topic has {least}, fewer than "
            f"knowledge.items: {knowledge.items}. Give fewer items, or a focus below 1"
        )
    texts = [text for text, _ in rows] + [injection.text for injection in society.inject]
    vectors = embedded((*texts, *society.asked), society.embedder)
    items, queries = vectors[: len(texts)], vectors[len(texts) :]
    centres = np.stack([items[: len(rows)][claims == c].mean(axis=0) for c in range(len(topics))])
    injected = [_nearest(centres, vector) for vector in items[len(rows) :]]
    # The largest of log-weights and Gumbel noise are a draw without replacement.
    own = _homes(society.n, len(topics), rng)[:, None] == claims
    share = knowledge.focus * own / np.bincount(claims)[claims] + (1 - knowledge.focus) / len(rows)
    with np.errstate(divide="ignore"):
        keys = np.log(share) + rng.gumbel(size=share.shape)
    held = np.argsort(-keys, axis=1)[:, : knowledge.items].astype(np.int32)
    middle, axes = _axes(items)
    return World(
        vectors=items,
        texts=texts,
        claims=np.concatenate([claims, injected]).astype(np.int32),
        topics=topics,
        centres=centres,
        queries=queries,
        held=held,
        middle=middle,
        axes=axes,
    )


def _axes(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the first two principal axes; of each axis the largest part is positive, else a solver chose."""
    middle = vectors.mean(axis=0)
    centred = (vectors - middle).astype(np.float64)  # not np.cov, which has no covariance of one item
    axes = np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), range(2)])
    return middle.astype(np.float32), (axes * signs).astype(np.float32)


def _homes(n: int, topics: int, rng: np.random.Generator) -> np.ndarray:
    """Each agent's own topic: as many agents of each as can be, in no order."""
    return rng.permutation(np.arange(n) % topics)


def _nearest(centres: np.ndarray, vector: np.ndarray) -> int:
    return int(((centres - vector) ** 2).sum(axis=1).argmin())


class KnowledgeRow(Section):
    """A row of knowledge of one's own."""

    text: str = Field(min_length=1)
    claim: str = Field(min_length=1)


def read_knowledge(knowledge: Knowledge) -> list[tuple[str, str]]:
    """(text, claim) of each item; rows that are none are counted and left out. Raises ConfigError."""
    return _items(knowledge.file(), knowledge.text()) if knowledge.path else sayings(knowledge.topics)


@lru_cache(maxsize=4)
def _items(path: Path, text: str) -> list[tuple[str, str]]:
    items, bad = parse(json_rows(text, path), KnowledgeRow.model_validate)
    if bad:
        first = f"{bad[0].where}: {bad[0].message}"
        say(f"{path}: {len(bad)} of {len(bad) + len(items)} rows are no items and left out; the first: {first}")
    if not items:
        raise ConfigError(f"knowledge.path: {str(path)!r} holds no item. Expected JSON Lines of text and claim")
    return [(item.text, item.claim) for item in items]


@lru_cache(maxsize=4)
def embedded(texts: tuple[str, ...], embedder: str) -> np.ndarray:
    """Unit vectors, (texts, dimensions) float32. Raises ConfigError."""
    return unit_vectors(texts, embedder, device="cpu")

"""Which talks are nearly another that stands earlier, among those that hold the same numbers: one of the same split,
and one of another.

Where these are many, some sets of numbers are drawn by their hashes, and all talks of such a set are looked at:
whether one is nearly another is known of them without the rest, so their share is that of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from evals.audit.places_by_hash import together
from pipeline.tasks.talks import Talk

MOST = 20_000  # texts that are embedded, or as many as hold the first numbers where these are more
EMBEDDED = 4096  # texts whose vectors are held at once, or as many as hold the same numbers where these are more
TEXTS = 1024  # of these, whose words and word pieces are held at once
BLOCK = 64  # rows whose similarities to all before them are held at once
WIDE = 1024  # of those before them, which are read in single precision at once


def near_duplicates(
    talks: Sequence[Talk],
    numbers: np.ndarray,
    texts: np.ndarray,
    splits: np.ndarray,
    text_of: Callable[[Talk], str],
    embed: Callable[[list[str]], np.ndarray],
    near: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each talk, the place of the first before it with the same `numbers`, other words, and a cosine of at least
    `near`, -1 where there is none: of its own split, and of another; and whether it was looked at, which all are unless
    they are many. `numbers` and `texts` are hashes, `splits` a number for each; `embed` gives vectors of length 1."""
    own_split, other_split = (np.full(len(talks), -1, np.int32) for _ in range(2))
    looked_at = np.ones(len(talks), bool)
    embedded = 0
    for kinds in _batches(numbers, texts):
        if embedded >= MOST:
            looked_at = numbers < numbers[kinds[0][0]]
            break
        embedded += sum(map(len, kinds))
        members = np.concatenate(kinds)
        vectors = _embedded(talks, members, text_of, embed)
        for kind, own in zip(kinds, np.split(vectors, np.cumsum([len(kind) for kind in kinds])[:-1]), strict=True):
            for others, found in zip(
                (own_split, other_split), _alike(own, texts[kind], splits[kind], near), strict=True
            ):
                others[kind] = np.where(found < 0, -1, kind[found])
    return own_split, other_split, looked_at


def _embedded(
    talks: Sequence[Talk],
    members: np.ndarray,
    text_of: Callable[[Talk], str],
    embed: Callable[[list[str]], np.ndarray],
) -> np.ndarray:
    """(members, width): some texts after others, so that few are held."""

    def of_some(start: int) -> np.ndarray:
        return embed([text_of(talks[i]) for i in members[start : start + TEXTS].tolist()])

    first = of_some(0)
    vectors = np.empty((len(members), first.shape[1]), np.float16)  # a cosine of so many parts is off by some 2e-5
    vectors[:TEXTS] = first
    for start in range(TEXTS, len(members), TEXTS):
        vectors[start : start + TEXTS] = of_some(start)
    return vectors


def _batches(numbers: np.ndarray, texts: np.ndarray) -> Iterator[list[np.ndarray]]:
    """The places of those that hold the same numbers and not the same words, kind by kind, in the order of hashes."""
    batch: list[np.ndarray] = []
    for kind in together(numbers):
        if len(np.unique(texts[kind])) > 1:
            batch.append(kind)
            if sum(map(len, batch)) >= EMBEDDED:
                yield batch
                batch = []
    if batch:
        yield batch


def _alike(vectors: np.ndarray, texts: np.ndarray, splits: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
    """Of each the first before it of its own split, and of another, -1 where there is none."""
    own, other = (np.full(len(vectors), -1) for _ in range(2))
    for start in range(0, len(vectors), BLOCK):
        part = vectors[start : start + BLOCK].astype(np.float32)
        end = start + len(part)
        before = (vectors[i : min(i + WIDE, end)].astype(np.float32) for i in range(0, end, WIDE))
        alike = np.concatenate([part @ each.T >= near for each in before], axis=1)
        alike &= texts[start:end, None] != texts[None, :end]
        same = splits[start:end, None] == splits[None, :end]
        for found, among in ((own, alike & same), (other, alike & ~same)):
            for i, row in enumerate(among, start):
                earlier = np.flatnonzero(row[:i])
                found[i] = earlier[0] if len(earlier) else -1
    return own, other

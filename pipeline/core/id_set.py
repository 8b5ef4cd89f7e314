"""Many ids, held at eight bytes each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np


class IdSet:
    """The distinct ones of some ids: whether one is among them, and how many they are.

    A hash of 64 bits is held of each. Ids of dialogues are such hashes themselves (pipeline.core.schema.digest): one
    that is not there is taken for one of n that are with a probability of n / 2^64, 5e-14 at a million.
    """

    def __init__(self, ids: Iterable[str] = ()):
        self.hashes = _distinct(hashes_of(ids))

    @classmethod
    def of(cls, hashes: np.ndarray) -> IdSet:
        """Of ids that are hashed already."""
        made = cls()
        made.hashes = _distinct(hashes.copy())
        return made

    def __or__(self, other: IdSet) -> IdSet:
        return IdSet.of(np.concatenate([self.hashes, other.hashes]))

    def __contains__(self, id: object) -> bool:
        hash = np.uint64(id_hash(str(id)))
        place = int(self.hashes.searchsorted(hash))
        return place < len(self.hashes) and bool(self.hashes[place] == hash)

    def __len__(self) -> int:
        return len(self.hashes)

    def have(self, hashes: np.ndarray) -> np.ndarray:
        """Whether each of some hashes is there, (hashes,) bool: as np.isin, which holds five copies of them."""
        places = self.hashes.searchsorted(hashes)
        np.minimum(places, len(self) - 1, out=places)
        return self.hashes[places] == hashes if len(self) else np.zeros(len(hashes), bool)


def _distinct(hashes: np.ndarray) -> np.ndarray:
    """As np.unique, which holds three copies of them."""
    hashes.sort()
    again = hashes[1:] == hashes[:-1]
    return hashes[np.append(True, ~again)] if again.any() else hashes


def hashes_of(ids: Iterable[str]) -> np.ndarray:
    """Of each id, in its order: (ids,) uint64."""
    return np.fromiter(map(id_hash, ids), np.uint64)


def id_hash(id: str) -> int:
    """64 bits, equal on every machine."""
    return int.from_bytes(hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def repeated(ids: Iterable[str]) -> int:
    """How many distinct ids come more than once."""
    return int((np.unique(hashes_of(ids), return_counts=True)[1] > 1).sum())

"""Which of many things are the same, and where they stand, by hashes: the things themselves are not held."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from pipeline.core.id_set import id_hash
from pipeline.runs.dialogue_pool import Place


def first_places(hashes: np.ndarray) -> np.ndarray:
    """Of each, the place of the first that is equal to it: (things,) to (things,)."""
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    ordered, begins = hashes[order], np.arange(len(order), dtype=np.int32)
    begins[1:][ordered[1:] == ordered[:-1]] = 0
    np.maximum.accumulate(begins, out=begins)  # where the run of equal ones begins that each stands in
    places = np.empty_like(order)
    places[order] = order[begins]
    return places


def is_last(hashes: np.ndarray) -> np.ndarray:
    """Whether no later one is equal to it: (things,) bool."""
    last = np.zeros(len(hashes), bool)
    last[len(hashes) - 1 - np.unique(hashes[::-1], return_index=True)[1]] = True
    return last


def together(hashes: np.ndarray) -> Iterator[np.ndarray]:
    """The places of those that are equal to another, kind by kind, each kind's in their order."""
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    ordered = hashes[order]
    as_before = np.append(ordered[1:] == ordered[:-1], False)
    del ordered
    begins = np.flatnonzero(as_before & ~np.append(False, as_before[:-1])).astype(np.int32)
    ends = np.flatnonzero(~as_before & np.append(False, as_before[:-1])).astype(np.int32) + 1
    for begin, end in zip(begins, ends, strict=True):
        yield order[begin:end]


KINDS = "Qqhh"  # of an id's hash, and of a place: its offset, sibling and rollout


class IdPlaces:
    """Where the record of an id stands, of all records of a file; 20 bytes are held of each."""

    def __init__(self, placed: Iterable[tuple[str, Place]]):
        found: list[array[int]] = [array(kind) for kind in KINDS]
        for id, place in placed:
            for column, value in zip(found, (id_hash(id), *place), strict=True):
                column.append(value)
        columns: list[np.ndarray] = [np.frombuffer(each, kind) for each, kind in zip(found, KINDS, strict=True)]
        del found
        order = np.argsort(columns[0], kind="stable").astype(np.int32)
        for i in range(len(columns)):  # one at a time, so that one is there twice
            columns[i] = columns[i][order]
        self.ids, *self.place = columns

    def of(self, id: str) -> Place | None:
        """Of the last record with the id; None where there is none."""
        hash = np.uint64(id_hash(id))
        i = int(self.ids.searchsorted(hash, side="right")) - 1
        return Place(*(int(column[i]) for column in self.place)) if i >= 0 and self.ids[i] == hash else None

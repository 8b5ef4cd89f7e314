"""Who hears whom: one of the k agents whose answers lie nearest, ties broken at random.

Agents whose answers lie on one place are on one point, as all are that gave the same answer, and a society that agrees
has few points. So neighbours are sought among points, and an agent of that rank is drawn on the point: the same
distribution as among agents, at less cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

FLAT = 16  # dimensions up to which a tree beats comparing all with all, and to which approximation projects
SLACK = 1.0  # an approximate neighbour is at most 1 + SLACK times as far as the true one of its rank


class Points(NamedTuple):
    """n agents on U points."""

    where: np.ndarray  # (U, d)
    of: np.ndarray  # (n,) the point of each agent
    size: np.ndarray  # (U,) agents on it
    agents: np.ndarray  # (n,) agents in order of their points
    start: np.ndarray  # (U,) where a point's agents begin there


def points_of(answers: np.ndarray, where: np.ndarray) -> Points:
    """`answers` (n, ...) tells which answers are the same one, so that few places are compared; `where` is (n, d)."""
    rows = answers.reshape(len(answers), -1)
    whole = rows[:, 0] if rows.shape[1] == 1 else rows
    _, first, of = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    places, place = np.unique(where[first], axis=0, return_inverse=True)
    of = place.reshape(-1)[of.reshape(-1)]
    size = np.bincount(of)
    return Points(places, of, size, np.argsort(of, kind="stable"), np.cumsum(size) - size)


def choose(points: Points, k: np.ndarray, approximate: bool, rng: np.random.Generator) -> np.ndarray:
    """For each agent one of its k nearest others, uniformly, (n,); -1 where its k is 0 or there is no other.

    `k` is (n,). Where it takes in everybody, no distance matters.
    """
    n = len(points.of)
    k = np.minimum(k, n - 1)
    rank, pick = (rng.random(n) * k).astype(np.int64), rng.random(n)
    me = np.arange(n)
    own = points.size[points.of]
    place = np.empty(n, np.int64)
    place[points.agents] = me - points.start[points.of[points.agents]]
    chosen = np.full(n, -1, np.int64)

    anyone = (k == n - 1) & (k > 0)
    chosen[anyone] = _but(me[anyone], pick[anyone], n)
    twin = ~anyone & (k > 0) & (rank < own - 1)
    chosen[twin] = points.agents[points.start[points.of[twin]] + _but(place[twin], pick[twin], own[twin])]
    further = ~anyone & (k > 0) & ~twin
    if further.any():
        asked, row = np.unique(points.of[further], return_inverse=True)
        nearest = near(points.where, asked, int(k[further].max()), approximate)
        upto = np.cumsum(points.size[nearest], axis=1)[row]
        column = (upto <= (rank - own + 1)[further, None]).sum(axis=1)
        point = nearest[row, column]
        chosen[further] = points.agents[points.start[point] + (pick[further] * points.size[point]).astype(np.int64)]
    return chosen


def _but(me: np.ndarray, pick: np.ndarray, n: np.ndarray | int) -> np.ndarray:
    """One of n places that is not one's own; `pick` is uniform in [0, 1)."""
    other = (pick * (n - 1)).astype(np.int64)
    return other + (other >= me)


def near(where: np.ndarray, asked: np.ndarray, most: int, approximate: bool) -> np.ndarray:
    """The points nearest to each asked one, itself left out, (asked, min(most, U - 1)), the nearest first."""
    many = min(most, len(where) - 1) + 1
    if approximate:
        lower = _projected(where)
        nearest = cKDTree(lower).query(lower[asked], many, eps=SLACK)[1]
    elif where.shape[1] <= FLAT:
        nearest = cKDTree(where).query(where[asked], many)[1]
    else:
        nearest = NearestNeighbors(n_neighbors=many, algorithm="brute").fit(where).kneighbors(where[asked])[1]
    others = nearest.reshape(len(asked), many) != asked[:, None]
    others[others.all(axis=1), -1] = False  # itself was not found, since distances are rounded or approximate
    return nearest.reshape(len(asked), many)[others].reshape(len(asked), many - 1)


def missed(points: Points, k: int, sample: int = 200) -> float:
    """The share of true neighbours that the approximation does not find, of evenly chosen points; NaN where none is."""
    asked = np.arange(0, len(points.where), max(1, len(points.where) // sample))
    true, approximated = (near(points.where, asked, k, approximate) for approximate in (False, True))
    if not true.size:
        return float("nan")
    return 1 - float(np.mean([np.isin(a, b).mean() for a, b in zip(true, approximated, strict=True)]))


def _projected(where: np.ndarray) -> np.ndarray:
    """A random projection to few dimensions, the same at every step, where there are more."""
    d = where.shape[1]
    return where if d <= FLAT else where @ np.random.default_rng(0).normal(size=(d, FLAT)).astype(np.float32)

"""Silos over time: S(t), E(t), sizes, and the kind of behaviour that a society settles into.

A silo is the agents whose answers lie nearest to the same fixed centre. `silo` is everywhere an integer array
[T + 1, n], agent i's cluster id at step t in silo[t, i]; t = 0 is before any interaction. Ids are fixed for the
whole run: ids that are given anew at each step make a society that does not move look unstable.

S, E and the kinds of behaviour are those of McGuinness, Wang, Priebe and Helm (arXiv 2412.06834), who tell the
kinds apart in words. The thresholds here are ours, and so is the class `single silo`.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

Array = np.ndarray
Behaviour = Literal["stable", "unstable", "decaying", "single silo"]
BEHAVIOURS: tuple[Behaviour, ...] = get_args(Behaviour)

SINGLE = 0.95  # the least share of agents in a single silo: one of 30 may stray, two may not
STABLE = 0.95  # the least mean S of a stable society
FALL = 0.1  # nats of entropy that a decaying society loses at least


def stability(silo: Array) -> Array:
    """S(t) for t = 1 to T: the share of agents whose cluster at t is the one that they had at t - 1. Empty at T = 0."""
    _check(silo)
    return (silo[1:] == silo[:-1]).mean(axis=1)


def entropy(silo: Array) -> Array:
    """E(t) for t = 0 to T: -sum p ln p over the silos' shares p of the agents, in nats; 0 where there is one silo."""
    shares = sizes(silo) / silo.shape[1]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.abs((shares * logs).sum(axis=1))  # abs: the sum is never above 0, and -0.0 is none of the values


def sizes(silo: Array) -> Array:
    """How many agents each silo has: int [T + 1, silos], one column for each id that occurs at any step, by id."""
    _check(silo)
    ids, column = np.unique(silo, return_inverse=True)
    steps = np.arange(len(silo))[:, None] * len(ids)
    counts = np.bincount((column.reshape(silo.shape) + steps).ravel(), minlength=len(silo) * len(ids))
    return counts.reshape(len(silo), len(ids))


def silos(silo: Array) -> Array:
    """How many silos have an agent, for t = 0 to T."""
    return (sizes(silo) > 0).sum(axis=1)


def long_run(steps: int) -> tuple[slice, slice, slice]:
    """The states of the long run, of its first third and of its last third, for `steps` steps.

    The long run is the second half: the states after the first floor(T / 2) steps. A third has at least one state.
    """
    start = steps // 2
    third = max(1, (steps + 1 - start) // 3)
    return slice(start, steps + 1), slice(start, start + third), slice(steps + 1 - third, steps + 1)


def behaviour(silo: Array) -> Behaviour:
    """What a society does in the long run, the second half of its steps. The first of these that holds:

    - `single silo`: one and the same silo has at least 95% of the agents at each state of the last third.
    - `decaying`: silos die and the rest grow. More silos die than are born, and the mean of E is at least 0.1 nats
      lower in the last third than in the first. A silo dies that has an agent at some state of the first third
      and none at any state of the last; one is born the other way round.
    - `stable`: the mean of S is at least 0.95. Silos persist, and agents stay where they are.
    - `unstable`: anything else. Agents change silos, and silos do not die out.

    Stable (silos that persist with their members), unstable (members that come and go) and decaying (silos that
    vanish) are the paper's kinds; a society that is down to one silo has none left to lose, and is told apart by
    us. The windows and the three thresholds are ours: the paper's full text was not at hand, nor any figure of its own.
    Silos that died before the second half leave no mark, so what is decaying at T = 80 may be stable at T = 800.

    Raises ValueError where there is no step or no agent.
    """
    _check(silo)
    steps, agents = len(silo) - 1, silo.shape[1]
    if steps < 1:
        raise ValueError(f"silo has {len(silo)} state(s); behaviour needs at least two: play one step or more")
    count, spread = sizes(silo), entropy(silo)
    late, first, last = long_run(steps)
    if (count[last].min(axis=0) >= SINGLE * agents).any():
        return "single silo"
    before, after = count[first].any(axis=0), count[last].any(axis=0)
    lost = int((before & ~after).sum()) - int((after & ~before).sum())
    if lost > 0 and spread[first].mean() - spread[last].mean() >= FALL:
        return "decaying"
    return "stable" if stability(silo[late]).mean() >= STABLE else "unstable"


def _check(silo: Array) -> None:
    if silo.ndim != 2 or 0 in silo.shape or not np.issubdtype(silo.dtype, np.integer):
        raise ValueError(
            f"silo is {silo.dtype} of shape {silo.shape}; expected cluster ids, integers of shape [T + 1, n], n >= 1"
        )

"""The cells of a society run, measured, and put together over repeats.

A cell is one society: a point of the sweep (k, p, and whatever else the config varies) and a repeat of it. A *setting*
is such a point, its repeats taken together; a *group* is the settings that differ in k and p alone (or, where agents
hold verifiers, in q too). Societies are the independent cases: agents of one society are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student_t

from evals.audit.finding import wilson
from evals.society.silos import BEHAVIOURS, Behaviour, behaviour, entropy, long_run, silos, sizes, stability
from evals.stats.intervals import Rate
from pipeline.core.errors import ConfigError
from pipeline.runs.store import read
from pipeline.society.run_society import Cell

Array = np.ndarray
# Told of a group where it is another value; and where it is there at all.
USUAL = {"noise": 0, "views": 1, "queries": 1, "gives": "any", "neighbours": "exact"}
MOVING = ("k", "p", "adapt", "inject")


class Played(NamedTuple):
    """One society, measured: S(1..T), E(0..T), silos(0..T) and, of a factual query, the share right(0..T).

    `wrong` says of a factual query that the society ended in a single silo in which most agents are wrong, and
    `wrong_largest` that most agents of its largest silo are wrong at the last step.
    """

    cell: Cell
    stability: Array
    entropy: Array
    silos: Array
    behaviour: Behaviour
    right: Array | None
    wrong: bool | None
    wrong_largest: bool | None


def measured(out: Path) -> list[Played]:
    """Every cell of a run, by id. Raises ConfigError where there is none, or where a row has no arrays."""
    folder = out / "society"
    cells = {cell.id: cell for cell in read(folder / "cells.jsonl", Cell)}
    if not cells:
        raise ConfigError(f"{folder / 'cells.jsonl'}: no society has been played. Run: maieutic society CONFIG")
    return [_measure(cells[name], folder / f"{name}.npz") for name in sorted(cells)]


def _measure(cell: Cell, path: Path) -> Played:
    if not path.is_file():
        raise ConfigError(f"{path}: missing, though cells.jsonl has it. Delete its row; the next run plays it again.")
    with np.load(path) as arrays:
        silo = arrays["silo"]
        right = arrays.get("right")
    if silo.shape != (cell.steps + 1, cell.n):
        raise ConfigError(
            f"{path}: silo has shape {silo.shape}, expected {(cell.steps + 1, cell.n)} as in cells.jsonl. Delete the "
            "file and its row; the next run plays it again."
        )
    kind = behaviour(silo)
    share = wrong = wrong_largest = None
    if right is not None:
        ids = np.unique(silo)
        in_largest = silo[-1] == ids[sizes(silo)[-1].argmax()]
        share = right.mean(axis=1)
        wrong_largest = bool(right[-1, in_largest].mean() < 0.5)
        wrong = kind == "single silo" and wrong_largest
    return Played(cell, stability(silo), entropy(silo), silos(silo), kind, share, wrong, wrong_largest)


def student(values: Array) -> tuple[Array, Array, Array]:
    """Mean over repeats, of `values` [repeats, ...], with its 95% interval by Student's t; NaN ends for one repeat."""
    n = len(values)
    centre = values.mean(axis=0)
    if n < 2:
        return centre, np.full_like(centre, math.nan), np.full_like(centre, math.nan)
    reach = values.std(axis=0, ddof=1) / math.sqrt(n) * student_t.ppf(0.975, n - 1)
    return centre, centre - reach, centre + reach


def rate(values: Sequence[float], least: float, most: float) -> Rate:
    """`student` of one number per repeat, each within least to most; NaN where there is none.

    Where all repeats are equal t would say that the mean is known. There the interval is what Wilson's allows for an
    event that none of the repeats showed: by up to its upper limit, times the room beyond their value, the mean may be
    off. One repeat leaves everything open.
    """
    n = len(values)
    if n == 0:
        return Rate(math.nan, math.nan, math.nan, 0)
    value, low, high = (float(part) for part in student(np.asarray(values, float)))
    if n == 1:
        low, high = least, most
    elif len(set(values)) == 1:
        unseen = wilson(0, n).high
        low, high = value - unseen * (value - least), value + unseen * (most - value)
    return Rate(value, max(low, least), min(high, most), n)


def late(one: Played) -> dict[str, float]:
    """A society's numbers: S is its mean over the long run; E, silos and the share of right answers over the last
    third of it; `single` is 1 for a single silo."""
    whole, _, last = long_run(one.cell.steps)
    found = {
        "S": float(one.stability[whole.start :].mean()),  # stability[i] is S(i + 1)
        "E": float(one.entropy[last].mean()),
        "silos": float(one.silos[last].mean()),
        "single": float(one.behaviour == "single silo"),
    }
    if one.right is not None:
        found["right"] = float(one.right[last].mean())
    return found


def limits(cell: Cell) -> dict[str, tuple[float, float]]:
    """The least and greatest value of each number; there are no more silos than agents, or than topics where known."""
    most = min(cell.n, len(cell.topics) or cell.n)
    return {"S": (0, 1), "E": (0, math.log(most)), "silos": (1, most), "single": (0, 1), "right": (0, 1)}


def by_setting(played: Iterable[Played]) -> list[list[Played]]:
    """The repeats of each setting, in the order of repeats; settings by kind, n, k, p, and what else differs."""
    found: dict[str, list[Played]] = {}
    for one in played:
        found.setdefault(repr(one.cell.setting), []).append(one)
    repeats = [sorted(some, key=lambda one: one.cell.repeat) for some in found.values()]
    return sorted(repeats, key=lambda some: _order(some[0].cell))


def _order(cell: Cell) -> tuple[Any, ...]:
    return cell.kind, cell.n, cell.k, cell.p, cell.q or 0.0, repr(cell.setting)


def summary(some: Sequence[Played]) -> dict[str, Any]:
    """A setting in numbers: shares of behaviour with Wilson's intervals, means with Student's, curves over t."""
    cell = some[0].cell
    bounds = limits(cell)
    numbers = [late(one) for one in some]
    found: dict[str, Any] = {
        "setting": cell.setting,
        "repeats": len(some),
        "seeds": [one.cell.seed for one in some],
        "behaviour": {
            name: wilson(sum(one.behaviour == name for one in some), len(some))._asdict() for name in BEHAVIOURS
        },
        **{name: rate([one[name] for one in numbers], *bounds[name])._asdict() for name in ("S", "E", "silos")},
        "curves": {
            name: _curve(np.array([getattr(one, field) for one in some], float))
            for name, field in (("S", "stability"), ("E", "entropy"), ("silos", "silos"))
        },
    }
    approximate = any(one.cell.neighbour_error for one in some)
    found["neighbour_error"] = rate([one.cell.neighbour_error for one in some], 0, 1)._asdict() if approximate else None
    if some[0].right is not None:
        found["right"] = rate([one["right"] for one in numbers], 0, 1)._asdict()
        found["wrong_single"] = wilson(sum(bool(one.wrong) for one in some), len(some))._asdict()
        found["wrong_largest"] = wilson(sum(bool(one.wrong_largest) for one in some), len(some))._asdict()
        found["curves"]["right"] = _curve(np.array([one.right for one in some]))
    return found


def _curve(values: Array) -> dict[str, list[float]]:
    return {end: part.tolist() for end, part in zip(("mean", "low", "high"), student(values), strict=True)}


def groups(settings: Iterable[list[Played]]) -> dict[str, list[list[Played]]]:
    """The settings of each group, by a name that tells what is unusual or sets groups apart: all but k, p and q.

    A k or p that is told there changes over time.
    """
    settings = list(settings)
    rest = [
        {key: value for key, value in some[0].cell.setting.items() if key not in ("k", "p", "q", "varies")}
        | some[0].cell.varies
        for some in settings
    ]
    differ = [
        key
        for key in dict.fromkeys(key for one in rest for key in one)
        if key in MOVING
        or len({repr(one.get(key)) for one in rest}) > 1
        or any(one.get(key) != usual for one in rest if (usual := USUAL.get(key)) is not None)
    ]
    found: dict[str, list[list[Played]]] = {}
    for some, one in zip(settings, rest, strict=True):
        shown = [f"{key} = {one.get(key, '–')}" for key in dict.fromkeys(["n", "steps", *differ]) if key != "kind"]
        name = f"{one['kind']}, {', '.join(shown)}".replace("steps =", "T =")
        found.setdefault(name, []).append(some)
    return found

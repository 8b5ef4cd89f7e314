"""The repeats of a society run, measured, and put together by setting.

A *setting* is a point of the sweep (k, p, and whatever else the config varies), its repeats taken together; a *group*
is the settings that differ in k and p alone (or, where agents hold verifiers, in q too). Societies are the independent
cases: agents of one society are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student_t

from evals.society.silos import BEHAVIOURS, Behaviour, behaviour, entropy, long_run, silos, sizes, stability
from evals.stats.intervals import Rate, wilson
from pipeline.core.errors import ConfigError
from pipeline.runs.store import read
from pipeline.society.run_society import Repeat, repeats_path

Array = np.ndarray
# Told of a group where it is another value; and where it is there at all.
USUAL = {"noise": 0, "views": 1, "queries": 1, "gives": "any", "neighbours": "exact"}
MOVING = ("k", "p", "adapt", "inject")


class MeasuredRepeat(NamedTuple):
    """One society, measured: S(1..T), E(0..T), silos(0..T) and, of a factual query, the share right(0..T).

    `wrong` says of a factual query that the society ended in a single silo in which most agents are wrong, and
    `wrong_largest` that most agents of its largest silo are wrong at the last step.
    """

    of: Repeat
    stability: Array
    entropy: Array
    silos: Array
    behaviour: Behaviour
    right: Array | None
    wrong: bool | None
    wrong_largest: bool | None


def measured(out: Path) -> list[MeasuredRepeat]:
    """Every repeat of a run, by id. Raises ConfigError where there is none, or where a row has no arrays."""
    folder = out / "society"
    repeats = {repeat.id: repeat for repeat in read(repeats_path(folder), Repeat)}
    if not repeats:
        raise ConfigError(f"{folder / 'repeats.jsonl'}: no society has been played. Run: maieutic society CONFIG")
    return [_measure(repeats[name], folder / f"{name}.npz") for name in sorted(repeats)]


def _measure(repeat: Repeat, path: Path) -> MeasuredRepeat:
    if not path.is_file():
        raise ConfigError(f"{path}: missing, though repeats.jsonl has it. Delete its row; the next run plays it again.")
    with np.load(path) as arrays:
        silo = arrays["silo"]
        right = arrays.get("right")
    if silo.shape != (repeat.steps + 1, repeat.n):
        raise ConfigError(
            f"{path}: silo has shape {silo.shape}, expected {(repeat.steps + 1, repeat.n)} as in repeats.jsonl. Delete "
            "the file and its row; the next run plays it again."
        )
    kind = behaviour(silo)
    share = wrong = wrong_largest = None
    if right is not None:
        ids = np.unique(silo)
        in_largest = silo[-1] == ids[sizes(silo)[-1].argmax()]
        share = right.mean(axis=1)
        wrong_largest = bool(right[-1, in_largest].mean() < 0.5)
        wrong = kind == "single silo" and wrong_largest
    return MeasuredRepeat(
        of=repeat,
        stability=stability(silo),
        entropy=entropy(silo),
        silos=silos(silo),
        behaviour=kind,
        right=share,
        wrong=wrong,
        wrong_largest=wrong_largest,
    )


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


def late(repeat: MeasuredRepeat) -> dict[str, float]:
    """A society's numbers: S is its mean over the long run; E, silos and the share of right answers over the last
    third of it; `single` is 1 for a single silo."""
    whole, _, last = long_run(repeat.of.steps)
    numbers = {
        "S": float(repeat.stability[whole.start :].mean()),  # stability[i] is S(i + 1)
        "E": float(repeat.entropy[last].mean()),
        "silos": float(repeat.silos[last].mean()),
        "single": float(repeat.behaviour == "single silo"),
    }
    if repeat.right is not None:
        numbers["right"] = float(repeat.right[last].mean())
    return numbers


def limits(repeat: Repeat) -> dict[str, tuple[float, float]]:
    """The least and greatest value of each number; there are no more silos than agents, or than topics where known."""
    most = min(repeat.n, len(repeat.topics) or repeat.n)
    return {"S": (0, 1), "E": (0, math.log(most)), "silos": (1, most), "single": (0, 1), "right": (0, 1)}


def by_setting(repeats: Iterable[MeasuredRepeat]) -> list[list[MeasuredRepeat]]:
    """The repeats of each setting, in the order of repeats; settings by kind, n, k, p, and what else differs."""
    settings: dict[str, list[MeasuredRepeat]] = {}
    for repeat in repeats:
        settings.setdefault(repr(repeat.of.setting), []).append(repeat)
    in_order = [sorted(setting, key=lambda repeat: repeat.of.repeat) for setting in settings.values()]
    return sorted(in_order, key=lambda setting: _order(setting[0].of))


def _order(repeat: Repeat) -> tuple[Any, ...]:
    return repeat.kind, repeat.n, repeat.k, repeat.p, repeat.q or 0.0, repr(repeat.setting)


def summary(setting: Sequence[MeasuredRepeat]) -> dict[str, Any]:
    """A setting in numbers: shares of behaviour with Wilson's intervals, means with Student's, curves over t."""
    first, n = setting[0].of, len(setting)
    bounds, numbers = limits(first), [late(repeat) for repeat in setting]
    row: dict[str, Any] = {
        "setting": first.setting,
        "repeats": n,
        "seeds": [repeat.of.seed for repeat in setting],
        "behaviour": {
            name: wilson(sum(repeat.behaviour == name for repeat in setting), n)._asdict() for name in BEHAVIOURS
        },
        **{name: rate([each[name] for each in numbers], *bounds[name])._asdict() for name in ("S", "E", "silos")},
        "curves": {
            name: _curve(np.array([getattr(repeat, field) for repeat in setting], float))
            for name, field in (("S", "stability"), ("E", "entropy"), ("silos", "silos"))
        },
    }
    errors = [repeat.of.neighbour_error for repeat in setting]
    row["neighbour_error"] = rate(errors, 0, 1)._asdict() if any(errors) else None
    if setting[0].right is not None:
        row["right"] = rate([each["right"] for each in numbers], 0, 1)._asdict()
        row["wrong_single"] = wilson(sum(bool(repeat.wrong) for repeat in setting), n)._asdict()
        row["wrong_largest"] = wilson(sum(bool(repeat.wrong_largest) for repeat in setting), n)._asdict()
        row["curves"]["right"] = _curve(np.array([repeat.right for repeat in setting]))
    return row


def _curve(values: Array) -> dict[str, list[float]]:
    return {end: part.tolist() for end, part in zip(("mean", "low", "high"), student(values), strict=True)}


def groups(settings: Iterable[list[MeasuredRepeat]]) -> dict[str, list[list[MeasuredRepeat]]]:
    """The settings of each group, by a name that tells what is unusual or sets groups apart: all but k, p and q.

    A k or p that is told there changes over time.
    """
    settings = list(settings)
    rest = [
        {key: value for key, value in setting[0].of.setting.items() if key not in ("k", "p", "q", "varies")}
        | setting[0].of.varies
        for setting in settings
    ]
    differ = [
        key
        for key in dict.fromkeys(key for others in rest for key in others)
        if key in MOVING
        or len({repr(others.get(key)) for others in rest}) > 1
        or any(others.get(key) != usual for others in rest if (usual := USUAL.get(key)) is not None)
    ]
    named: dict[str, list[list[MeasuredRepeat]]] = {}
    for setting, others in zip(settings, rest, strict=True):
        shown = [f"{key} = {others.get(key, '–')}" for key in dict.fromkeys(["n", "steps", *differ]) if key != "kind"]
        name = f"{others['kind']}, {', '.join(shown)}".replace("steps =", "T =")
        named.setdefault(name, []).append(setting)
    return named

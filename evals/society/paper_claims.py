"""The claims of arXiv 2412.06834 against a society run: contrasts paired by repeat, and a verdict each by interval.

Small and large k are the smallest and largest of the sweep, and so for p. A contrast is a mean over repeats of the
difference within a repeat, with Student's t interval. A part of a claim is

- agreed, where the whole 95% interval lies on the side that the claim names,
- not agreed, where the whole interval lies on the other side,
- undecided, where it holds the bar.

A claim is agreed where all its parts are, not agreed where one of them is not, and else undecided. No correction for
the number of parts is made: all parts of a claim have to hold, so none of them has a second chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from evals.society.repeats import MeasuredRepeat, late, limits, rate
from evals.stats.intervals import Rate, wilson

Verdict = Literal["agreed", "not agreed", "undecided"]
HARDLY = 0.05  # "hardly matters": the whole interval lies within this of zero, as for every null claim of this project
HALF = 0.5  # "most runs"
Point = tuple[int, float]  # k, p
Sweep = Mapping[Point, Sequence[MeasuredRepeat]]


class ClaimPart(NamedTuple):
    """One interval of a claim; `bar` says in words what it is held against."""

    what: str
    rate: Rate
    bar: str
    verdict: Verdict


class PaperClaim(NamedTuple):
    """A claim in the paper's sense, its parts here, and what follows."""

    claim: str
    parts: tuple[ClaimPart, ...]
    verdict: Verdict


def verdict(parts: Sequence[ClaimPart]) -> Verdict:
    """A claim is agreed with where all its parts are, and not where one is not."""
    verdicts = {part.verdict for part in parts}
    return "not agreed" if "not agreed" in verdicts else "agreed" if verdicts == {"agreed"} else "undecided"


def above(what: str, rate: Rate, bar: float) -> ClaimPart:
    """Agreed where the whole interval lies above the bar, not agreed where none of it does."""
    verdict: Verdict = "agreed" if rate.low > bar else "not agreed" if rate.high <= bar else "undecided"
    return ClaimPart(what, rate, f"above {bar:g}", verdict)


def near_zero(what: str, rate: Rate) -> ClaimPart:
    inside = rate.low > -HARDLY and rate.high < HARDLY
    outside = rate.low > HARDLY or rate.high < -HARDLY
    verdict: Verdict = "agreed" if inside else "not agreed" if outside else "undecided"
    return ClaimPart(what, rate, f"within {HARDLY:g} of 0", verdict)


def paired(sweep: Sweep, weights: Mapping[Point, float], name: str, scale: float = 1.0) -> Rate:
    """Mean over repeats of the weighted sum of a number at several points; repeats that all the points have.

    `weights` sum to zero. The result lies within the weights' reach times the number's range, over `scale`.
    """
    values = {point: {repeat.of.seed: late(repeat)[name] for repeat in sweep[point]} for point in weights}
    repeats = sorted(set.intersection(*(set(column) for column in values.values())))
    sums = [sum(weight * values[point][repeat] for point, weight in weights.items()) / scale for repeat in repeats]
    least, most = limits(next(iter(sweep.values()))[0].of)[name]
    reach = sum(weight for weight in weights.values() if weight > 0) * (most - least) / scale
    return rate(sums, -reach, reach)


def share(sweep: Sweep, point: Point, of: Callable[[MeasuredRepeat], bool]) -> Rate:
    return wilson(sum(of(repeat) for repeat in sweep[point]), len(sweep[point]))


def one_silo(repeat: MeasuredRepeat) -> bool:
    return repeat.behaviour == "single silo"


def several(repeat: MeasuredRepeat) -> bool:
    return not one_silo(repeat)


def _at(k: int, p: float) -> str:
    return f"k = {k}, p = {p:g}"


def claims(sweep: Sweep) -> list[PaperClaim]:
    """The verdicts on one sweep over (k, p): what its points allow to be asked, and nothing else."""
    ks, ps = sorted({k for k, _ in sweep}), sorted({p for _, p in sweep})
    (small, large), (low, high) = (ks[0], ks[-1]), (ps[0], ps[-1])
    held: list[PaperClaim] = []

    def add(claim: str, *parts: ClaimPart) -> None:
        held.append(PaperClaim(claim, parts, verdict(parts)))

    def there(*points: Point) -> bool:
        return len(set(points)) == len(points) and all(point in sweep for point in points)

    if small < large and there((small, low), (small, high), (large, low), (large, high)):
        corner = {(large, high): 1.0, (large, low): -1.0}
        add(
            "More mirroring amplifies the effect of k towards splintering.",
            above(f"E, p = {high:g} − p = {low:g}, at k = {large}", paired(sweep, corner, "E"), 0),
            above(
                f"E, the same − that at k = {small}",
                paired(sweep, corner | {(small, high): -1.0, (small, low): 1.0}, "E"),
                0,
            ),
        )
    if small < large and there((small, low), (large, low)):
        points = [(small, low)] + ([(small, high)] if there((small, low), (small, high)) else [])
        add(
            "Small k favours local consensus.",
            *(
                above(f"share with several silos at {_at(*point)}", share(sweep, point, several), HALF)
                for point in points
            ),
            above(
                f"E, k = {small} − k = {large}, at p = {low:g}",
                paired(sweep, {(small, low): 1.0, (large, low): -1.0}, "E"),
                0,
            ),
        )
        if low < high or low == 0:  # else the only p there is may be a large one
            add(
                "Large k with small p favours global consensus.",
                above(f"share with a single silo at {_at(large, low)}", share(sweep, (large, low), one_silo), HALF),
            )
    if small < large and low < high and there((large, high)):
        add(
            "Large k with large p leaves fragments.",
            above(f"share with several silos at {_at(large, high)}", share(sweep, (large, high), several), HALF),
        )
    if small == 1 and there((1, low), (1, high)):
        step = {(1, high): 1.0, (1, low): -1.0}
        agents = sweep[1, low][0].of.n
        add(
            "With k = 1 mirroring hardly matters.",
            near_zero(f"S, p = {high:g} − p = {low:g}", paired(sweep, step, "S")),
            near_zero(f"E / ln n, p = {high:g} − p = {low:g}", paired(sweep, step, "E", math.log(agents))),
        )
    return held


class PaperExperiment(NamedTuple):
    """One of the paper's first experiments: what was varied, the settings by value, last minus first."""

    name: str
    varied: str
    rows: list[dict[str, Any]]
    change: dict[str, Rate]


def experiments(sweep: Sweep) -> list[PaperExperiment]:
    """k = 1 and p varied; p = 0 and k varied: S, E and silos along the line, and the last point minus the first."""
    made = []
    for name, varied, points in (
        ("k = 1, p varied", "p", sorted(point for point in sweep if point[0] == 1)),
        ("p = 0, k varied", "k", sorted(point for point in sweep if point[1] == 0)),
    ):
        if len(points) > 1:
            step = {points[-1]: 1.0, points[0]: -1.0}
            rows = [{"k": k, "p": p} for k, p in points]
            change = {metric: paired(sweep, step, metric) for metric in ("S", "E", "silos")}
            made.append(PaperExperiment(name, varied, rows, change))
    return made


def smallest_q(wrong: Mapping[float, Rate], bar: float) -> float | None:
    """The smallest q from which on the share of runs that end wrong stays below `bar` by its whole interval; None where
    there is none. `wrong` is that share by q."""
    best = None
    for q in sorted(wrong, reverse=True):
        if not wrong[q].high < bar:
            break
        best = q
    return best


def needed_for(bar: float) -> int:
    """How many repeats without a single wrong silo it takes for Wilson's upper limit to fall below `bar`."""
    return next(n for n in range(1, 100_000) if wilson(0, n).high < bar)

"""How many exam tasks and seeds a difference needs, and what they cost, before an experiment is run.

The variance of a paired difference has three components: between seeds, between tasks, and the rest. From a pilot
(or from planning values that are printed) they give the mean squares that an experiment of any size expects, and
those the standard error and degrees of freedom of `evals.stats.intervals`, which judges the finished run.

    maieutic compare --plan configs/quickstart.yaml --set compare.difference=0.05
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from scipy.stats import norm
from scipy.stats import t as student_t

from evals.exams.asking import FIRST_TURN, STRATA, scope_of
from evals.exams.registry import catalog_of, exams_of
from evals.metrics.metric import SignedSum
from evals.report.planning.price import Price, exam_size, price
from evals.stats.contrasts import detectable, sides
from evals.stats.intervals import Squares, squares
from evals.stats.stored_cases import results
from pipeline.core.errors import ConfigError
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import Compare

SEEDS = (2, 3, 4, 5, 6, 8, 10, 15, 20)
TIMES = (0.5, 1, 2, 4, 8)  # as many exam tasks as the config has
WANTED = 0.8
DRAWS = 4000
FEW_SEEDS = "With few seeds more tasks can cost power: the interval's degrees of freedom fall towards the seeds'."
OF_FIRST_TURNS = (*STRATA, "overspecified")  # scopes of exam tasks
OTHER_ITEMS = ("stress", "held_out")  # scopes whose items `exams` counts
# Planning values where there is no pilot. Above what was seen between seeds (.01 to .04) and between tasks (.04 to
# .16) in contrasts on ask_skill between students of SFT on the embedded base; between seeds of GRPO it was about .07
# (configs/methods.yaml). A coin, which has the greatest variance, within a task.
SEED_SD, TASK_SD, SHARE = 0.05, 0.2, 0.5


class PlanError(ConfigError):
    """Nothing to plan with; the message says what is missing."""


class Components(NamedTuple):
    """Variances of the paired difference between seeds, between tasks, and of the rest, which is one task of one seed.

    `floor` is the least variance that the counts of one task allow, under as many seeds as the pilot had.
    `share` is how many of the exam's tasks the metric is measured on, `smallest` how many of these its smallest part
    is. `items` are those of an exam that has its own, however many exam tasks there are; 0: its items are exam tasks.
    `source` says in words where all this is from.
    """

    seed: float
    task: float
    rest: float
    floor: float
    share: float
    smallest: float
    source: str
    items: int = 0

    def at(self, seeds: int, tasks: int) -> Squares:
        """The mean squares that so many seeds and exam tasks expect."""
        columns = self.items or max(2, round(tasks * self.share))
        by_seed, by_task = self.rest + columns * self.seed, self.rest + seeds * self.task
        return Squares(
            seed=by_seed,
            task=by_task,
            rest=self.rest,
            rows=seeds,
            columns=columns,
            floor=self.floor / columns**2,
            fewest=max(2, round(columns * self.smallest)),
            fewest_seeds=seeds,
        )


class Design(NamedTuple):
    """An experiment of so many seeds and exam tasks; `tokens` and `hours` are of the whole, hours NaN where unknown."""

    seeds: int
    tasks: int
    power: float
    detectable: float
    tokens: float
    hours: float


def power(expected: Squares, difference: float) -> float:
    """The share of experiments whose interval leaves out 0 where the true difference is as given (two-sided 5%).

    Under the normal model of `evals.stats.intervals` the mean squares are independent chi-squares around what is
    expected; for each of seeded draws of them the chance that the mean lies beyond its own t-interval is exact. So it
    holds what the report's `detectable` leaves out, that an experiment of few seeds does not know its spread.
    """
    rng = np.random.default_rng(0)
    rows, columns = expected.rows, expected.columns
    freedom = (rows - 1, columns - 1, (rows - 1) * (columns - 1))
    drawn = [m * rng.chisquare(f, DRAWS) / f for m, f in zip(expected[:3], freedom, strict=True)]
    spreads = [expected._replace(seed=s, task=t, rest=r).spread() for s, t, r in zip(*drawn, strict=True)]
    se, df = np.array(spreads).T
    reach = se * student_t.ppf(0.975, df)
    true = math.sqrt((expected.seed + expected.task - expected.rest) / (rows * columns))
    return float(np.mean(norm.sf((reach - difference) / true) + norm.cdf((-reach - difference) / true)))


def components(experiment: Experiment) -> tuple[Components, Path | None]:
    """From the pilot, the run itself where it has results, or from planning values; and the pilot. Raises PlanError."""
    compare = _compare(experiment)
    metric, a, b = compare.primary.metric, compare.primary.a, compare.primary.b
    pilot = Path(compare.pilot) if compare.pilot else experiment.run
    tables = {name: results(pilot, name) for name in (a, b)}
    if not all(tables.values()):
        if compare.pilot:
            raise PlanError(
                f"compare.pilot: {compare.pilot}: no exam results of {a!r} and {b!r} there. Expected a run directory "
                "in which both were examined; leave the key out to plan with printed assumptions"
            )
        return _assumed(experiment, compare), None
    total = _primary(experiment, compare)
    ratios, tasks, seeds, _ = sides(tables, total, a, b)
    empty = min(ratio.n.sum() for ratio in ratios) == 0
    means = None if empty else squares(ratios, total.shares)
    if means is None or min(len(tasks), seeds, means.fewest, means.fewest_seeds) < 2:
        raise PlanError(
            f"compare.pilot: {pilot} has {len(tasks)} tasks and {seeds} seeds of {metric!r}; two of each are needed, "
            "for each of its parts, to tell how seeds and tasks differ. Name another run, or leave the pilot out"
        )
    if not any((means.seed, means.task, means.rest)):
        raise PlanError(
            f"compare.pilot: in {pilot} {a!r} and {b!r} never differ on {metric!r}, as where neither does it at all. "
            "No spread can be known from that; name another run, or leave the pilot out"
        )
    judged = f"{len(tasks)} tasks and {seeds} seeds of {metric}, {a} - {b}"
    return Components(
        seed=max((means.seed - means.rest) / means.columns, 0.0),
        task=max((means.task - means.rest) / means.rows, 0.0),
        rest=means.rest,
        floor=means.floor * means.columns**2,
        share=len(tasks) / max(exam_size(pilot), 1),
        smallest=means.fewest / means.columns,
        source=f"the pilot {pilot} ({judged})",
        items=0 if _of_exam_tasks(experiment, metric) else len(tasks),
    ), pilot


def _compare(experiment: Experiment) -> Compare:
    if experiment.compare is None:
        raise PlanError("compare: a plan is for the primary contrast, and the config names none. Add compare.primary")
    return experiment.compare


def _primary(experiment: Experiment, compare: Compare) -> SignedSum:
    return catalog_of([experiment]).signed_sum(compare.primary.metric)


def _of_exam_tasks(experiment: Experiment, named: str) -> bool:
    """Whether more exam tasks are more items of a metric; some exams have items of their own, and `exams.whole` limits
    those of whole episodes."""
    name, _, scope = named.partition("@")
    if scope in (*OTHER_ITEMS, *(source.name for source in experiment.sources[1:])):
        return False
    exams, (tasks, _) = exams_of(experiment), exam_tasks(experiment)
    if experiment.exams.whole is not None and not _of_first_turns(experiment, named):
        return False
    own = [exam for exam in exams if any(name == each.name and scope in each.scopes for each in exam.metrics)]
    measures = own or [exam for exam in exams if name in {each.name for each in exam.metrics}]
    grow = [exam.episodes or exam.answers(experiment, tasks) > exam.answers(experiment, []) for exam in measures]
    return any(grow) or not grow


def _items_apart(experiment: Experiment, named: str) -> int:
    """How many items only first turns are asked on in the metric's scope: other wordings, kinds, a second source."""
    scope = named.partition("@")[2]
    return sum(scope_of(experiment, task) == f"@{scope}" for task in exam_tasks(experiment)[1]) if scope else 0


def _of_first_turns(experiment: Experiment, named: str) -> bool:
    """Whether all that a metric is made of is counted in first turns, which are asked on every exam task."""
    parts = {part.partition("@") for part in catalog_of([experiment]).signed_sum(named).weights}
    asking = {each.name for exam in exams_of(experiment) if exam.first_turn_answers for each in exam.metrics}
    return all(
        name in asking and (not scope or (scope in OF_FIRST_TURNS and name in FIRST_TURN)) for name, _, scope in parts
    )


def _assumed(experiment: Experiment, compare: Compare) -> Components:
    total = _primary(experiment, compare)
    if not total.shares:
        raise PlanError(
            f"compare: {total.name} is no share, so nothing can be assumed of how it spreads. Name a pilot: "
            "compare.pilot"
        )
    weights = total.weights
    apart = _items_apart(experiment, compare.primary.metric)
    first = apart > 0 or _of_first_turns(experiment, compare.primary.metric)
    draws = experiment.exams.samples if first else experiment.exams.episodes
    # Each part of a composite is measured on its own share of the tasks, and both conditions draw.
    rest = sum(w * w for w in weights.values()) * len(weights) * 2 * SHARE * (1 - SHARE) / draws
    source = (
        f"no pilot, so assumed: sd {SEED_SD} between seeds and {TASK_SD} between tasks, {draws} draws of a share of "
        f"{SHARE} in each task and condition, {len(weights)} part(s) on as many equal parts of the tasks, and a single "
        "one on all of them"
    )
    most, counts = experiment.exams.whole, experiment.tasks.exam.values()
    in_whole = max(2, sum(count if most is None else min(most, count) for count in counts))
    items = apart or (0 if _of_exam_tasks(experiment, compare.primary.metric) else in_whole)
    if apart:
        source += f", and {items} items, as many as the config asks for in that scope"
    elif items:
        own = "as many items of the exam's own as there are exam tasks"
        source += f", and {own if most is None else f'{items} items: exams.whole lets no more be sat in whole'}"
    return Components(
        seed=SEED_SD**2, task=TASK_SD**2, rest=rest, floor=0.0, share=1.0, smallest=1 / len(weights), source=source,
        items=items,
    )  # fmt: skip


def designs(experiment: Experiment, spread: Components, cost: Price) -> Iterator[Design]:
    """Every number of seeds with every number of tasks: what it would detect, and cost."""
    compare = _compare(experiment)
    whole = sum(experiment.tasks.exam.values())
    for seeds in sorted({*SEEDS, len(experiment.seeds)} - {1}):
        for times in _times(spread):
            tasks = max(2, round(whole * times))
            expected = spread.at(seeds, tasks)
            yield Design(
                seeds=seeds,
                tasks=tasks,
                power=power(expected, compare.difference),
                detectable=detectable(*expected.spread()),
                tokens=cost.tokens(seeds, tasks),
                hours=cost.hours(seeds, tasks, compare.tokens_per_second),
            )


def _times(spread: Components) -> tuple[float, ...]:
    return (1,) if spread.items else TIMES


def plan(experiment: Experiment) -> RenderableType:
    """The plan of a config's primary contrast, to print. Raises PlanError."""
    compare = _compare(experiment)
    spread, pilot = components(experiment)
    cost = price(experiment, pilot)
    made = list(designs(experiment, spread, cost))
    primary, whole = compare.primary, sum(experiment.tasks.exam.values())
    grid = Table(
        title=f"Power to find {primary.metric}, {primary.a} − {primary.b} = {compare.difference} (and the report's "
        "`detectable`), by seeds and exam tasks; * is the config's",
        title_justify="left",
    )
    grid.add_column("seeds", justify="right")
    for times in _times(spread):
        grid.add_column(f"{max(2, round(whole * times))}", justify="right", no_wrap=True)
    for seeds in dict.fromkeys(design.seeds for design in made):
        row = [design for design in made if design.seeds == seeds]
        grid.add_row(str(seeds), *(_cell(design, design.seeds == len(experiment.seeds), whole) for design in row))
    reach = sorted((design for design in made if design.power >= WANTED), key=lambda design: design.tokens)[:3]
    best = Table(title=f"The cheapest that find it in {WANTED:.0%} of runs", title_justify="left")
    for column in ("seeds", "exam tasks", "power", "tokens", "hours"):
        best.add_column(column, justify="right")
    for design in reach:
        hours = "–" if math.isnan(design.hours) else f"{design.hours:.2f}"
        best.add_row(str(design.seeds), str(design.tasks), f"{design.power:.2f}", _short(design.tokens), hours)
    first = f"Planned with {spread.source}."
    if pilot is None:
        first = f"[bold red]{first}[/] Run a pilot first, or name one: --set compare.pilot=RUN."
    lines = [
        f"sd between seeds {spread.seed**0.5:.3f}, between tasks {spread.task**0.5:.3f}, within "
        f"{spread.rest**0.5:.3f}.",
        *(f"Of the cost, {source}." for source in cost.sources),
        f"Tokens = seeds x ({_short(cost.sampled)} sampled + {_short(cost.trained)} trained on + exam tasks x "
        f"{_short(cost.exam)}), of all {len(experiment.conditions)} conditions and the base; prompts are not counted.",
        _hours(cost, compare.tokens_per_second),
    ]
    most = round(whole * _times(spread)[-1])
    nothing = f"No design up to {SEEDS[-1]} seeds and {most} exam tasks finds {compare.difference}."
    few = FEW_SEEDS
    if spread.items:
        few = f"It is measured on {spread.items} items of its exam's own: more exam tasks add none."
    return Group(first, grid, few, best if reach else nothing, *lines)


def _cell(design: Design, of_config: bool, whole: int) -> str:
    chance, least = (text.removeprefix("0") for text in (f"{design.power:.2f}", f"{design.detectable:.3f}"))
    style = "bold green" if design.power >= WANTED else "dim"
    mark = "*" if of_config and design.tasks == whole else ""
    return f"[{style}]{chance} ({least}){mark}[/]"


def _hours(cost: Price, per_second: float) -> str:
    formula = "Hours = (sampled + exam tokens) / compare.tokens_per_second / 3600 + seconds of training / 3600"
    if math.isnan(cost.seconds):
        return f"{formula}. Hours need a pilot that has trained every condition: none is invented here."
    measured = f"{cost.seconds:.0f} s of training a seed, as the pilot's machine took"
    if not per_second:
        return f"{formula}; {measured}. Hours need the engine's throughput too: --set compare.tokens_per_second=..."
    return f"{formula}; {measured}, {per_second:g} tokens a second. On a machine with one GPU they are GPU-hours."


def _short(count: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"

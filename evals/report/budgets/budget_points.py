"""What each student of a run was worth, beside the tokens that were sampled and trained for it; who is above whom.

Students are compared within one pool and budget: they learn from the same tasks, under the same partner.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from evals.metrics.metric import SignedSum
from evals.stats.contrasts import Difference, contrast, holm
from evals.stats.intervals import Rate, Tables, estimate
from evals.stats.stored_cases import results
from pipeline.core.schema import Json, Party
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Memory
from pipeline.runs.dialogue_pool import Pool, memories_path, reference
from pipeline.runs.store import read
from pipeline.runs.student_files import trainings

SURE = 0.05  # Holm's p below which one student is said to be above another


class Point(NamedTuple):
    """One condition: means over its seeds of tokens and steps for one student, and its rate over tasks and seeds."""

    condition_name: str
    line: str  # the first condition that differs from it in budget alone
    pool: str  # whose partner, and whose tokens, it is held against
    method: str
    budget: float  # share of the pool's tasks
    plain: bool  # differs from its pool in method and budget alone: no price, no control of selection
    sampled: float  # tokens, of what it learned from or played
    trained: float  # tokens with loss, over all epochs
    steps: float  # of the optimizer
    rate: Rate


class Offered(NamedTuple):
    """By seed, of what a condition may learn from: `tokens` that models sampled for it, and whole dialogues, those
    played on from branches among them."""

    tokens: Counter[int]
    dialogues: Counter[int]


class OneStudent(NamedTuple):
    """What one student of a condition took: means over those that were trained. `pool`: whole dialogues that it could
    learn from. `seconds` of training are NaN where they were not noted."""

    pool: float
    sampled: float
    trained: float
    steps: float
    seconds: float


class Above(NamedTuple):
    """One student is above another, by Holm's correction over all pairs of its pool and budget."""

    difference: Difference
    p_holm: float


def points(experiment: Experiment, tables: Mapping[str, Tables], total: SignedSum) -> list[Point]:
    """Of every condition that was trained and examined, by pool, budget and what was sampled."""
    made = []
    for name, condition in experiment.conditions.items():
        student, rate = one_student(experiment, name), estimate(tables[name], total)
        if student is None or not rate.n:
            continue
        pool = reference(experiment, name) or name
        made.append(
            Point(
                condition_name=name,
                line=_line(experiment, name),
                pool=pool,
                method=condition.method,
                budget=condition.budget,
                plain=_by_method_alone(condition, experiment.conditions[pool]),
                sampled=student.sampled,
                trained=student.trained,
                steps=student.steps,
                rate=rate,
            )
        )
    return sorted(made, key=lambda point: (point.pool, point.budget, point.sampled, point.condition_name))


def ranked(
    made: Sequence[Point], tables: Mapping[str, Tables], total: SignedSum
) -> dict[tuple[str, float], list[Above]]:
    """By pool and budget the pairs of plain points that are told apart, the better first; an empty list where there is
    no ranking."""
    found: dict[tuple[str, float], list[Above]] = {}
    for key, group in itertools.groupby(made, key=lambda point: (point.pool, point.budget)):
        names = [point.condition_name for point in group if point.plain]
        pairs = [contrast(tables, total, a, b) for a, b in itertools.combinations(names, 2)]
        apart = [Above(_upwards(pair), p) for pair, p in zip(pairs, holm([pair.p for pair in pairs]), strict=True)]
        found[key] = [pair for pair in apart if pair.p_holm < SURE]  # NaN is not below
    return found


def tables_of(experiment: Experiment) -> dict[str, Tables]:
    """The exam cases of every condition; empty where it was not examined."""
    return {name: results(experiment.run, name) for name in experiment.conditions}


def _by_method_alone(condition: Condition, pool: Condition) -> bool:
    way = {"method": pool.method, "budget": pool.budget, "learns_from": pool.learns_from, "per_task": pool.per_task}
    return condition.model_copy(update=way) == pool


def _line(experiment: Experiment, name: str) -> str:
    whole = {
        other: condition.model_copy(update={"budget": 1.0, "learns_from": ""})
        for other, condition in experiment.conditions.items()
    }
    learns = {other: condition.learns_from for other, condition in experiment.conditions.items()}
    # One that learns from what it would have made itself has that one's dialogues, and no other's.
    source = {other: "" if whole.get(learns[other]) == whole[other] else learns[other] for other in whole}
    return next(other for other in whole if (whole[other], source[other]) == (whole[name], source[name]))


def _upwards(pair: Difference) -> Difference:
    if not pair.difference < 0:
        return pair
    return pair._replace(a=pair.b, b=pair.a, difference=-pair.difference, low=-pair.high, high=-pair.low)


def one_student(experiment: Experiment, name: str) -> OneStudent | None:
    """None where none was trained."""
    trained, pool = _trained(experiment, name), offered(experiment, name)
    if not trained:
        return None
    return OneStudent(
        pool=fmean(pool.dialogues[seed] for seed in trained),
        sampled=fmean(_sum(records, "sampled_tokens", pool.tokens[seed]) for seed, records in trained.items()),
        trained=fmean(_sum(records, "trained_tokens") for records in trained.values()),
        steps=fmean(_sum(records, "optimizer_steps") for records in trained.values()),
        seconds=fmean(_sum(records, "seconds", math.nan) for records in trained.values()),
    )


def offered(experiment: Experiment, name: str) -> Offered:
    """Of the pool's dialogues and branches on tasks within the condition's budget, and of lessons that are remembered.
    An expert's dialogues took none, and what people said was not sampled."""
    condition, found = experiment.conditions[name], Offered(Counter(), Counter())
    pool = Pool(experiment, condition.learns_from or name)
    for record in itertools.chain[Dialogue | Branch](read(pool.own, Dialogue), read(pool.branches, Branch)):
        if condition.affords(record.task.id):
            found.tokens[record.seed] += tokens_of(record)
            whole = 1 if isinstance(record, Dialogue) else sum(len(sibling.rollouts) for sibling in record.siblings)
            found.dialogues[record.seed] += whole
    for lesson in read(memories_path(experiment.run, condition.remembers), Memory):
        found.tokens[lesson.seed] += lesson.tokens
    return found


def tokens_of(record: Dialogue | Branch) -> int:
    """Sampled for it, by models."""
    parties: dict[str, tuple[Party, ...]] = {"model": ("student", "partner"), "human": ()}
    return sum(map(record.tokens, parties.get(record.condition.voice, ("student",))))


def _trained(experiment: Experiment, name: str) -> dict[int, list[Json]]:
    """The records of each seed's student, one of each round."""
    records = trainings(experiment.run, name)
    return {seed: [record for record in records if record["seed"] == seed] for seed in {r["seed"] for r in records}}


def _sum(records: Sequence[Json], key: str, otherwise: float = 0.0) -> float:
    """Over a student's rounds; `otherwise` where no record has the key."""
    there = [record[key] for record in records if key in record]
    return float(sum(there)) if there else float(otherwise)

"""Does the wording give the specification away? A bag of words tries to tell underspecified from full tasks.

A student could learn *when* to ask from a word that only underspecified questions hold. The report prints
how well a linear model does that on tasks it was not fitted on, and refuses its headline above 0.2. Of few tasks J
passes that by chance, and exams are on other tasks of the same source: there it is measured on more of that source.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, nsmallest
from typing import NamedTuple

import numpy as np

from evals.stats.bag_of_words import FOLDS, bags_of_words, folds, logistic
from evals.stats.intervals import Rate
from pipeline.core.schema import Specification, Task, digest
from pipeline.tasks.loading import of_one_source
from pipeline.tasks.settings import Tasks
from pipeline.tasks.sources import source_of

GIVEN_AWAY = 0.2  # above this J the wording gives the specification away
LEAST = 50  # tasks of either kind; J of fewer passes GIVEN_AWAY by chance
EACH = 400  # tasks of each specification that a source is measured on
COMPARED: tuple[Specification, ...] = ("full", "underspecified", "sharded")
MOST = 10_000  # tasks that are gone through: more of them take memory and hardly change the second digit


class Wording(NamedTuple):
    """What is read of a task."""

    specification: str
    question: str
    full_question: str
    lacks: bool  # a needed fact is missing


def wording(task: Task) -> Wording:
    """What of a task says whether its wording gives it away."""
    return Wording(task.specification, task.question, task.full_question, bool(task.missing))


class Wordings:
    """Those of distinct tasks, of which no more are held than `youden_j` goes through."""

    def __init__(self) -> None:
        self._held: dict[str, Wording] = {}
        self._last_first: list[tuple[int, int, str]] = []  # a heap of (-hash, -place, task) of those held
        self._met, self._dropped = 0, False

    def add(self, task: str, read: Wording) -> None:
        if task in self._held or read.specification not in COMPARED:
            return
        self._held[task] = read
        self._met += 1
        heappush(self._last_first, (-_hash(read), -self._met, task))
        if len(self._held) > MOST:
            del self._held[heappop(self._last_first)[2]]
            self._dropped = True

    def update(self, other: Wordings) -> None:
        for task, read in other.items():
            self.add(task, read)
        self._dropped |= other._dropped

    def items(self) -> Iterator[tuple[str, Wording]]:
        """Tasks with their wording: in the order in which they were met, and by hash where some were dropped."""
        if self._dropped:
            return ((task, self._held[task]) for *_, task in sorted(self._last_first, reverse=True))
        return iter(self._held.items())

    def __iter__(self) -> Iterator[Wording]:
        return (read for _, read in self.items())


def first_by_hash(rows: Iterable[Wording]) -> list[Wording]:
    """Of distinct ones those that `youden_j` goes through: all of them, sorted, or by hash where they are many."""
    drawn = nsmallest(MOST + 1, ((_hash(row), row) for row in rows))
    return [row for _, row in drawn[:MOST]] if len(drawn) > MOST else sorted(row for _, row in drawn)


def _hash(read: Wording) -> int:
    return int(digest(read.full_question), 16)


def youden_j(tasks: Iterable[Wording]) -> float:
    """Sensitivity + specificity - 1 on held-out tasks: 0 is chance, 1 is perfect. NaN below 5 tasks of either kind,
    where too few problems have all of a kind, and where nothing is a word.

    Words and pairs of words count with their frequency; a number is one of three words, by its size.
    Minimal pairs stay in one fold, or the twin would push the guess the other way.
    """
    rows = [task for task in tasks if task.specification in COMPARED]
    if len(rows) > MOST:
        rows = sorted(rows, key=_hash)[:MOST]
    lacks = np.array([task.lacks for task in rows], dtype=bool)
    groups = [task.full_question for task in rows]
    if min(lacks.sum(), (~lacks).sum()) < FOLDS or len(set(groups)) < FOLDS:
        return math.nan
    counts = bags_of_words(re.sub(r"\d+(?:[.,]\d+)*", _size, task.question) for task in rows)
    spoken, fold = np.diff(counts.indptr) > 0, folds(groups)
    guessed = np.zeros(len(rows), dtype=bool)
    for held_out in (fold == each for each in range(FOLDS)):
        if len(set(lacks[~held_out])) < 2 or not spoken[~held_out].any():
            return math.nan
        weights, bias = logistic(counts[~held_out], lacks[~held_out])
        guessed[held_out] = counts[held_out] @ weights + bias > 0
    return float(guessed[lacks].mean() - guessed[~lacks].mean())


def with_interval(j: float, lacking: float, others: float) -> Rate:
    """J of so many tasks of either kind with the widest 95% interval that its two shares allow: each has a standard
    deviation of at most one half."""
    if math.isnan(j):
        return Rate(j, math.nan, math.nan, round(lacking + others))
    reach = 1.96 * math.sqrt(0.25 / lacking + 0.25 / others)
    return Rate(j, max(-1.0, j - reach), min(1.0, j + reach), round(lacking + others))


def told_apart(tasks: Wordings) -> Rate:
    """`youden_j` with its interval."""
    kinds = Counter(task.lacks for task in tasks)
    return with_interval(youden_j(tasks), kinds[True], kinds[False])


def enough_wordings(met: Wordings, tasks: Tasks) -> Wordings:
    """Those that a run met; where they are fewer than LEAST of a kind that it has or asks in its exams, and all is made
    here, EACH of its sources."""
    kinds = Counter(task.lacks for task in met)
    asked = [(part, [name for name in COMPARED if part.train.get(name) or part.exam.get(name)]) for part in tasks.parts]
    both = len({name == "full" for _, names in asked for name in names}) == 2
    enough = min(kinds[True], kinds[False]) >= LEAST
    if not both or enough or not all(source_of(part).made_here for part, names in asked if names):
        return met
    drawn = Wordings()
    for part, names in asked:
        counts: dict[Specification, int] = dict.fromkeys(names, EACH)
        for task in of_one_source(part.model_copy(update={"train": counts}), "train")[0]:
            drawn.add(f"{part.source}-{task.id}", wording(task))
    return drawn


def _size(match: re.Match[str]) -> str:
    try:
        value = float(match.group().replace(",", ""))
    except ValueError:  # a date, an address
        return "number"
    return "tiny" if value < 10 else "small" if value < 26 else "number"

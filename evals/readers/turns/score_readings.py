"""How a reader of turns agrees with labels, class by class: precision, recall, F1, with 95% intervals over problems.

A class counts decisions: for `asks_withheld` and `tells` one decision a turn and fact (withheld facts alone for the
first, all for the second), for `attempt` whether the value is the labelled one (another value is a false positive and
a false negative), for all others one a turn. `stance` and `feedback` are the mean of the F1 of their two classes
(agrees and disagrees; right and wrong); their precision and recall likewise. A turn that was not read counts as one
that does nothing, and is counted beside. Intervals are percentiles of a cluster bootstrap over problems, or Wilson's of
as many draws as problems count where all of these are 0, or 1; NaN where there are fewer than FEWEST_PROBLEMS. A class
that no label holds has NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from evals.readers.turns.turns_file import LabelledRow
from evals.stats.bootstrap import cluster_bootstrap, percentiles
from evals.stats.classification import precision_recall_f1
from evals.stats.intervals import f1_at_an_end
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.reading.numbers.equality import equal
from pipeline.reading.protocol import Unread

FEWEST_PROBLEMS = 5  # that an interval over problems needs
Decisions = Iterable[tuple[bool, bool]]  # truth, read


class ClassScore(NamedTuple):
    """Agreement on one class. `n`: decisions that the labels hold to be true."""

    precision: float
    recall: float
    f1: float
    low: float
    high: float
    n: int


def _withheld(row: LabelledRow) -> list[str]:
    return [fact.id for fact in row.facts if not fact.public]


def _same_attempt(row: LabelledRow, truth: str | None, read: str | None) -> Decisions:
    if truth is not None and read is not None and not _equal_answers(row, truth, read):
        return [(True, False), (False, True)]
    return [(truth is not None, read is not None)]


def _equal_answers(row: LabelledRow, truth: str, read: str) -> bool:
    if row.turn.entry:
        return truth.split() == read.split()
    return equal(read, truth)


STUDENT: dict[str, tuple[Callable[[LabelledRow, StudentReading, StudentReading], Decisions], ...]] = {
    "asks_withheld": (lambda row, t, r: [(f in t.asks, f in r.asks) for f in _withheld(row)],),
    "asks_any_withheld": (
        lambda row, t, r: [(bool(t.asks & set(_withheld(row))), bool(r.asks & set(_withheld(row))))],
    ),
    "generic_request": (lambda row, t, r: [(t.generic_request, r.generic_request)],),
    "repeats_question": (lambda row, t, r: [(t.repeats_question, r.repeats_question)],),
    "other_question": (lambda row, t, r: [(t.other_question, r.other_question)],),
    "says_missing": (lambda row, t, r: [(t.says_missing, r.says_missing)],),
    "attempt": (lambda row, t, r: _same_attempt(row, t.attempt, r.attempt),),
    "tentative": (lambda row, t, r: [(t.tentative, r.tentative)],),
    "done": (lambda row, t, r: [(t.done, r.done)],),
    "stance": (
        lambda row, t, r: [(t.stance == "agrees", r.stance == "agrees")],
        lambda row, t, r: [(t.stance == "disagrees", r.stance == "disagrees")],
    ),
}
PARTNER: dict[str, tuple[Callable[[LabelledRow, PartnerReading, PartnerReading], Decisions], ...]] = {
    "tells": (lambda row, t, r: [(fact.id in t.tells, fact.id in r.tells) for fact in row.facts],),
    "tells_wrong": (lambda row, t, r: [(fact.id in t.tells_wrong, fact.id in r.tells_wrong) for fact in row.facts],),
    "reveals_stated": (lambda row, t, r: [(t.reveals == "stated", r.reveals == "stated")],),
    "reveals_derivable": (lambda row, t, r: [(t.reveals == "derivable", r.reveals == "derivable")],),
    "feedback": (
        lambda row, t, r: [(t.feedback == "right", r.feedback == "right")],
        lambda row, t, r: [(t.feedback == "wrong", r.feedback == "wrong")],
    ),
    "refuses": (lambda row, t, r: [(t.refuses, r.refuses)],),
    "off_role": (lambda row, t, r: [(t.off_role, r.off_role)],),
}


def score_readings(
    rows: Sequence[LabelledRow], readings: Sequence[StudentReading | PartnerReading | Unread]
) -> dict[str, ClassScore]:
    """Each class of both parties, in the order of the guide."""
    pairs = [(row, row.truth, reading) for row, reading in zip(rows, readings, strict=True)]
    students = [
        (row, truth, reading if isinstance(reading, StudentReading) else StudentReading())
        for row, truth, reading in pairs
        if isinstance(truth, StudentReading)
    ]
    partners = [
        (row, truth, reading if isinstance(reading, PartnerReading) else PartnerReading())
        for row, truth, reading in pairs
        if isinstance(truth, PartnerReading)
    ]
    scores = {name: _score([_counts(students, part) for part in parts]) for name, parts in STUDENT.items()}
    return scores | {name: _score([_counts(partners, part) for part in parts]) for name, parts in PARTNER.items()}


def _counts(cases: Sequence[tuple], decide: Callable[..., Decisions]) -> np.ndarray:
    """True positives, false positives and false negatives of each problem: [problems, 3]."""
    place = {name: i for i, name in enumerate(dict.fromkeys(row.task_id for row, _, _ in cases))}
    counts = np.zeros((len(place), 3))
    for row, truth, reading in cases:
        for yes, read in decide(row, truth, reading):
            if yes or read:
                counts[place[row.task_id], (0 if read else 2) if yes else 1] += 1
    return counts


def f1(rows: Sequence[LabelledRow], readings: Sequence[StudentReading | PartnerReading], name: str) -> float:
    """Of one class, as `score_readings` has it, without the interval."""
    party, parts = ("student", STUDENT[name]) if name in STUDENT else ("partner", PARTNER[name])
    pairs = zip(rows, readings, strict=True)
    cases = [(row, row.truth, reading) for row, reading in pairs if row.kind == party]
    counts = [_counts(cases, part) for part in parts]
    return float(np.mean([_figures(part.sum(axis=0, keepdims=True))[0, 2] for part in counts]))


def _score(classes: Sequence[np.ndarray]) -> ClassScore:
    weights = cluster_bootstrap(len(classes[0]))
    whole = [_figures(counts.sum(axis=0, keepdims=True)) for counts in classes]
    low, high = percentiles(np.mean([_figures(weights @ counts)[:, 2] for counts in classes], axis=0))
    precision, recall, f1 = (float(figure) for figure in np.mean(whole, axis=0)[0])
    n = int(sum(counts[:, 0].sum() + counts[:, 2].sum() for counts in classes))
    low, high = f1_at_an_end(low, high, min(int(counts.any(axis=1).sum()) for counts in classes))
    if len(classes[0]) < FEWEST_PROBLEMS:
        low = high = math.nan
    if not n:
        precision = recall = f1 = low = high = math.nan
    return ClassScore(precision=precision, recall=recall, f1=f1, low=low, high=high, n=n)


def _figures(counts: np.ndarray) -> np.ndarray:
    """Precision, recall and F1 of each row of [tp, fp, fn]; NaN where a denominator is 0."""
    return np.stack(precision_recall_f1(*counts.T), axis=1)

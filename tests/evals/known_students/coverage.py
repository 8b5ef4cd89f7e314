"""Many task sets: how often the intervals of each metric hold the truth, and how far its mean estimate is off."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evals.exams.registry import catalog, find_exam
from evals.stats.contrasts import contrast
from tests.evals.known_students.acts import Student
from tests.evals.known_students.sitting_exams import Found, Sit, experiment, found, problems_of, sat, truths


class Coverage(NamedTuple):
    """One metric over task sets: means, the share of intervals that hold the truth, and the mean count of cases."""

    metric: str
    truth: float
    estimate: float
    covered: float
    sets: int
    n: float

    @property
    def held(self) -> int:
        return round(self.covered * self.sets)


def covered(
    voice: str,
    exams: Sequence[str],
    student: Student,
    peer: Student,
    sets: int,
    problems: int,
    folder: Path,
    contrasts: Sequence[str] = (),
    sits: Sequence[Sit] = (),
    knowing: bool = False,
    **exam: object,
) -> list[Coverage]:
    """Every metric of the exams that the student's rates fix, and the difference of student and peer in `contrasts`."""
    config = experiment(voice, exams, **exam)
    rows: dict[str, list[Found]] = defaultdict(list)
    for i in range(sets):
        asked = problems_of(voice, random.Random(f"set {i}"), folder, problems, exams)
        students = {f"student {i}": student, f"peer {i}": peer}  # whoever can solve what is drawn by name
        examined = list(students)[: 1 + bool(contrasts)]
        cases = sat(config, students, voice, asked, sits, examined, knowing).values()
        tables = dict(zip("ab", cases, strict=False))
        mine, theirs = (truths(config, one, peer, asked) for one in (student, peer))
        for row in found(config, tables["a"], mine):
            rows[row.metric].append(row)
        known = catalog([find_exam(name) for name in exams])
        for metric in contrasts:
            gap = contrast(tables, known.signed_sum(metric), "a", "b")
            difference = Found(
                metric=f"{metric}: a - b",
                truth=mine[metric] - theirs[metric],
                value=gap.difference,
                low=gap.low,
                high=gap.high,
                n=gap.tasks,
            )
            rows[difference.metric].append(difference)
    return [_over_sets(metric, of_metric) for metric, of_metric in rows.items()]


def _over_sets(metric: str, rows: Sequence[Found]) -> Coverage:
    counted = [row for row in rows if not math.isnan(row.value)]
    n = len(counted)
    return Coverage(
        metric=metric,
        truth=sum(row.truth for row in counted) / n,
        estimate=sum(row.value for row in counted) / n,
        covered=sum(row.covered for row in counted) / n,
        sets=n,
        n=sum(row.n for row in counted) / n,
    )


def table(rows: Sequence[Coverage]) -> str:
    """As Markdown."""
    lines = [
        "| metric | truth | mean estimate | intervals that hold it | sets | n of a set |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.metric} | {row.truth:.3f} | {row.estimate:.3f} | {row.covered:.2f} | {row.sets} | {row.n:.0f} |"
        for row in rows
    ]
    held, n = sum(row.held for row in rows), sum(row.sets for row in rows)
    return "\n".join([*lines, "", f"{held} of {n} intervals hold the truth ({held / max(1, n):.3f})."])

"""Kept dialogues, counted so often that their first acts come in the mix in which they were played.

Rejection sampling moves the rate of a first act from p to p k1 / (p k1 + (1 - p) k0), whatever the student then learns:
k1 and k0 are the shares that it keeps of dialogues with and without the act. Here that is undone. What is left of a
difference between conditions is not made by which first acts were kept.

    facts: {partition: facts}
    facts_as_played: {partition: facts, learns_from: facts, first_acts: as_played}
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from datasets import Features, Value

from pipeline.core.id_set import IdSet
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task, digest
from pipeline.datasets.dataset_files import dataset_path, stream_rows
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.experiment.experiment import Experiment
from pipeline.judging.moves import move
from pipeline.knowledge.records import Dialogue
from pipeline.reading.stored import student_reading
from pipeline.runs.dialogue_pool import Pool

COUNTED = Features({**FORMATS["sft"], "times": Value("int64")})

Kind = tuple[str, str]  # the task's specification, and the first act


class Weighed(NamedTuple):
    """What was done: rows, how often they count together, the one that counts most, and the share of what was played
    that no row stands for."""

    rows: int
    counted: int
    most: int
    unseen: float

    def __str__(self) -> str:
        return (
            f"{self.rows} rows count {self.counted} times, one of them up to {self.most}; of {self.unseen:.1%} of what "
            "was played none like it is kept"
        )


def first_act(dialogue: Dialogue) -> str:
    """What the first student turn does."""
    first = next(i for i, turn in enumerate(dialogue.turns) if turn.party == "student")
    return act_of(dialogue.task, student_reading(dialogue.task, dialogue.turns, first))


def act_of(task: Task, reading: StudentReading) -> str:
    """`closed`, or the move that a turn is (pipeline/judging/moves.py)."""
    return "closed" if reading.whether and reading.attempt is None else move(task, reading)


def times(kept: Mapping[str, Kind], played: Counter[Kind]) -> dict[str, int]:
    """How often each kept id counts, so that as many rows as are kept come in the mix of kinds that was played.

    A kind of which none is kept cannot be made up for: the others share its part. Largest remainders; which rows of a
    kind count once more goes by hash.
    """
    of_kind = defaultdict[Kind, list[str]](list)
    for id in sorted(kept, key=digest):
        of_kind[kept[id]].append(id)
    there = sum(played[kind] for kind in of_kind)
    exact = {kind: len(kept) * played[kind] / there for kind in sorted(of_kind)}
    counts = {kind: int(share) for kind, share in exact.items()}
    most_left = sorted(exact, key=lambda kind: counts[kind] - exact[kind])
    for kind in most_left[: len(kept) - sum(counts.values())]:
        counts[kind] += 1
    return {
        id: counts[kind] // len(ids) + (i < counts[kind] % len(ids))
        for kind, ids in of_kind.items()
        for i, id in enumerate(ids)
    }


def mark_as_played(experiment: Experiment, condition_name: str) -> Weighed:
    """Add to a condition's dataset the column `times`; rows that count 0 times stay in it. By seed and round."""
    rows = IdSet(row["id"] for row in stream_rows(experiment, condition_name))
    kinds = defaultdict[tuple[int, int], dict[str, Kind]](dict)  # of rows
    played = defaultdict[tuple[int, int], Counter[Kind]](Counter)
    for dialogue in Pool(experiment, condition_name):
        part, kind = (dialogue.seed, dialogue.round), (dialogue.task.specification, first_act(dialogue))
        played[part][kind] += 1
        if dialogue.id in rows:
            kinds[part][dialogue.id] = kind
    counted, unseen = dict[str, int](), 0
    for part, kept in kinds.items():
        counted |= times(kept, played[part])
        there = set(kept.values())
        unseen += sum(n for kind, n in played[part].items() if kind not in there)
    counting = ({**row, "times": counted[row["id"]]} for row in stream_rows(experiment, condition_name))
    written = write_rows(dataset_path(experiment, condition_name), counting, COUNTED)
    total = sum(part.total() for part in played.values())
    return Weighed(written, sum(counted.values()), max(counted.values(), default=0), unseen / total if total else 0.0)

"""Every talk that a known student can have with an exam's fixed partner, with its probability, as acts without words.

The partner is abstract, too: it understands all that it is asked. What exams count in these talks, by their own
definitions, is what they should find (truth.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evals.sitting.exam_partners import ARMS
from pipeline.core.schema import Task
from tests.evals.known_students.acts import Act, Scene, Student


class Said(NamedTuple):
    """A turn of the student's: what it saw and said, and how many missing facts the reply told (None: no reply)."""

    scene: Scene
    act: Act
    told: int | None

    @property
    def value(self) -> str:
        return self.act.value if self.act.kind not in ("ask", "generic", "other", "think", "done") else ""

    @property
    def named(self) -> str:
        """The value that it commits to; that of a repeated answer is the one which stood."""
        return self.scene.standing if self.act.kind == "again" else self.value


class Shape(NamedTuple):
    """What of a task decides how a talk goes."""

    specification: str
    missing: int

    @classmethod
    def of(cls, task: Task) -> Shape:
        return cls(task.specification, len(task.missing))


def talks(student: Student, shape: Shape, partner: str, turns: int) -> Iterator[tuple[float, list[Said]]]:
    """`partner` is an arm of the exams, `solo` (nobody), or `shards` (who tells a fact a turn, and is never done)."""
    impossible = shape.specification == "false_premise"
    for solves, chance in ((True, student.right), (False, 1 - student.right)):
        if chance and not (impossible and not solves):
            scene = Scene(missing=shape.missing, solves=solves, impossible=impossible)
            weight = 1.0 if impossible else chance
            yield from _from(student, scene, partner, turns, weight, [])


def _from(
    student: Student, scene: Scene, partner: str, turns: int, weight: float, said: list[Said]
) -> Iterator[tuple[float, list[Said]]]:
    for act, chance in student.turn(scene).items():
        if chance <= 0:
            continue
        last = turns == 1 or (act.kind == "done" and partner != "shards")
        spoken = Said(scene, act, None)
        standing = spoken.named or scene.standing
        if last:
            yield weight * chance, [*said, spoken]
            continue
        told, heard = _reply(partner, scene, act, spoken.named)
        news = (scene.news and not spoken.named) or told > 0
        after = scene._replace(missing=scene.missing - told, standing=standing, heard=heard, news=news)
        spoken = spoken._replace(told=told)
        if heard == "passed":  # the verifier is done with it
            yield weight * chance, [*said, spoken]
        else:
            yield from _from(student, after, partner, turns - 1, weight * chance, [*said, spoken])


def _reply(partner: str, scene: Scene, act: Act, named: str) -> tuple[int, str]:
    """How many missing facts the partner tells, and its verdict."""
    volunteers = partner == "shards" or (partner in ARMS and ARMS[partner].condition.disclosure == "volunteer")
    if volunteers:
        return min(1, scene.missing), "null"
    if partner == "facts":
        return int(act.kind == "ask" and not act.public and scene.missing > 0), "null"
    if partner == "verifier" and named:
        return 0, "passed" if named == "right" else "failed"
    return 0, "null"

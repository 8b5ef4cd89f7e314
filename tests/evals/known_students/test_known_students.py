"""Students of known rates, in words that nobody wrote for the reader, are measured as they are."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from tests.evals.known_students.acts import Student
from tests.evals.known_students.cast import FIRM, MIXED, PEER
from tests.evals.known_students.sitting_exams import Found, experiment, found, problems_of, sat, truths
from tests.evals.known_students.talks import Shape, talks
from tests.evals.known_students.voices import NATURAL

COUNT = 24
# Who asks nothing but for facts: a request that names none counts as the reader's class of its own.
PLAIN = dataclasses.replace(MIXED, generic=0.0, needless_generic=0.0, needless_other=0.0)


def sits(voice: str, exams: tuple[str, ...], student: Student, folder: Path, peer: Student = PEER) -> list[Found]:
    config = experiment(voice, exams)
    problems = problems_of(voice, random.Random(5), folder, COUNT, exams)
    tables = sat(config, {"student": student, "peer": peer}, voice, problems)
    rows = found(config, tables["student"], truths(config, student, peer, problems))
    print(*rows, sep="\n")
    return rows


@pytest.mark.parametrize(
    ("exams", "student"),
    [
        (("asking", "feedback"), PLAIN),
        (("grounding", "alone"), MIXED),
        (("lost", "clarification"), MIXED),
        (("presupposition",), MIXED),
        (("collapse", "updating"), FIRM),
        (("agreement",), FIRM),
        (("verdict_use",), MIXED),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_in_the_embedded_worlds_words_every_metric_is_near_its_truth(
    exams: tuple[str, ...], student: Student, tmp_path: Path
) -> None:
    rows = sits("closed", exams, student, tmp_path)
    assert len(rows) > 6 and [row for row in rows if not row.near] == []


@pytest.mark.parametrize("partner", ["facts", "volunteer", "chatter", "unhelpful", "verifier", "solo", "shards"])
def test_all_talks_together_are_certain(partner: str) -> None:
    for shape in (Shape("underspecified", 2), Shape("full", 0), Shape("false_premise", 0)):
        assert sum(chance for chance, _ in talks(MIXED, shape, partner, 4)) == pytest.approx(1)


@pytest.mark.parametrize("kind", sorted(NATURAL))
def test_no_act_rests_on_few_wordings(kind: str) -> None:
    assert len(set(NATURAL[kind])) >= 25

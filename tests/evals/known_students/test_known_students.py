"""Students of known rates, in words that nobody wrote for the reader, are measured as they are."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import fmean, stdev

import pytest

from evals.exams.asking import first_turns
from evals.exams.registry import EXAMS, find_exam
from evals.metrics.metric import metric_name
from pipeline.core.resources import shipped
from tests.evals.known_students.acts import Student
from tests.evals.known_students.cast import (
    ALWAYS_GENERIC,
    FIRM,
    GENERIC,
    LISTENER,
    MIXED,
    NEAR_BOTH,
    NEAR_GREEDY,
    NEAR_THE_BOUNDS,
    PEER,
    PERFECT,
    PLAIN,
)
from tests.evals.known_students.coverage import covered, table
from tests.evals.known_students.sitting_exams import Found, experiment, found, problems_of, sat, truths
from tests.evals.known_students.talks import Shape, talks
from tests.evals.known_students.truth import NOT_FIXED
from tests.evals.known_students.voices import NATURAL

COUNT, SETS = 30, 16
# Natural words are read by the readers that ship, whose weights are files of their own.
as_shipped = pytest.mark.skipif(
    not shipped("data", "readers", "semantic", "reader.json").is_file(), reason="data/readers has no natural readers"
)
# What the readers that ship do not reach yet; docs/known_students.md has by how much.
misread = pytest.mark.xfail(
    reason="the readers that ship miss about one natural question in four", raises=AssertionError, strict=False
)
by_hand = pytest.mark.skip(reason="minutes; python -m tests.evals.known_students, until the readers reach their bars")
SITTINGS = [
    (("asking", "feedback"), MIXED),
    (("alone", "grounding"), MIXED),
    (("clarification", "lost"), MIXED),
    (("presupposition",), MIXED),
    (("collapse", "updating"), FIRM),
    (("agreement",), FIRM),
    (("verdict_use",), MIXED),
    (("common_ground",), LISTENER),
]
FIRST_TURNS = ("ask_needed", "ask_specific", "ask_generic", "ask_needless", "ask_skill", "first_accuracy")

MISREAD = (("asking", "feedback"), ("presupposition",))
CASES = [pytest.param("closed", *each, id="-".join((*each[0], "closed"))) for each in SITTINGS] + [
    pytest.param(
        "natural",
        *each,
        id="-".join((*each[0], "natural")),
        marks=[as_shipped, pytest.mark.slow, *([misread] if each[0] in MISREAD else [])],
    )
    for each in SITTINGS
]


def seated(
    voice: str, exams: tuple[str, ...], student: Student, folder: Path, firsts: bool = False
) -> dict[str, Found]:
    config = experiment(voice, exams)
    problems = problems_of(voice, random.Random(5), folder, COUNT, exams)
    parts = [first_turns] if firsts else []
    tables = sat(config, {"student": student, "peer": PEER}, voice, problems, parts, ["student"])
    rows = found(config, tables["student"], truths(config, student, PEER, problems))
    print(*rows, sep="\n")
    return {row.metric: row for row in rows}


@pytest.mark.parametrize(("voice", "exams", "student"), CASES)
def test_every_metric_is_near_its_truth(voice: str, exams: tuple[str, ...], student: Student, tmp_path: Path) -> None:
    # The embedded world has no words for a request that names nothing.
    student = PLAIN if voice == "closed" and student is MIXED else student
    rows = seated(voice, exams, student, tmp_path).values()
    assert len(rows) > 6 and [row for row in rows if not row.near] == []


@pytest.mark.parametrize(("exams", "student"), SITTINGS, ids=["-".join(exams) for exams, _ in SITTINGS])
def test_a_reader_that_errs_in_nothing_finds_the_truth_in_natural_words(
    exams: tuple[str, ...], student: Student, tmp_path: Path
) -> None:
    """Over many sittings: one alone is within its interval of most that a metric might wrongly count."""
    config, off = experiment("natural", exams), dict[str, list[float]]()
    for i in range(SETS):
        (folder := tmp_path / str(i)).mkdir()
        problems = problems_of("natural", random.Random(f"sitting {i}"), folder, 20, exams)
        seats = {f"student {i}": student, f"peer {i}": PEER}
        tables = sat(config, seats, "natural", problems, [], [f"student {i}"], knowing=True)
        for row in found(config, tables[f"student {i}"], truths(config, student, PEER, problems)):
            off.setdefault(row.metric, []).append(row.value - row.truth)
    known = {metric: [each for each in differences if each == each] for metric, differences in off.items()}
    assert len(known) > 6 and min(map(len, known.values())) > 2
    biased = {
        metric: (fmean(each), len(each))
        for metric, each in known.items()
        if abs(fmean(each)) > 4 * stdev(each) / len(each) ** 0.5 + 0.02
    }
    assert biased == {}


@as_shipped
@pytest.mark.slow
@misread
def test_the_perfect_natural_asker_has_the_whole_skill(tmp_path: Path) -> None:
    assert seated("natural", ("asking",), PERFECT, tmp_path, True)["ask_skill"].value > 0.9


@as_shipped
@pytest.mark.slow
def test_who_asks_in_general_terms_names_nothing(tmp_path: Path) -> None:
    rows = seated("natural", ("asking",), GENERIC, tmp_path, True)
    assert rows["ask_generic"].value > 0.85 and rows["ask_specific"].value < 0.1
    assert rows["ask_skill"].near and rows["ask_needless"].near


@as_shipped
@pytest.mark.slow
def test_who_always_asks_in_general_terms_has_no_skill(tmp_path: Path) -> None:
    skill = seated("natural", ("asking",), ALWAYS_GENERIC, tmp_path, True)["ask_skill"]
    assert skill.truth == 0 and skill.covered


@as_shipped
@pytest.mark.slow
@misread
@pytest.mark.parametrize("student", [NEAR_THE_BOUNDS, NEAR_GREEDY, NEAR_BOTH], ids=["bounds", "greedy", "both"])
def test_a_student_near_its_bounds_or_without_chance_is_measured(student: Student, tmp_path: Path) -> None:
    rows = seated("natural", ("asking",), student, tmp_path, True)
    assert [rows[metric] for metric in FIRST_TURNS if not rows[metric].near] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("student", "peer"),
    [(MIXED, NEAR_THE_BOUNDS), (NEAR_GREEDY, NEAR_BOTH)],
    ids=["samples that differ", "samples alike"],
)
@pytest.mark.parametrize("knowing", [True, pytest.param(False, marks=by_hand)], ids=["nothing misread", "as shipped"])
def test_intervals_hold_the_truth_as_often_as_they_say(
    student: Student, peer: Student, knowing: bool, tmp_path: Path
) -> None:
    contrasts = ("ask_needed", "ask_skill", "first_accuracy")
    rows = covered(
        "natural",
        ("asking",),
        student,
        peer,
        sets=50,
        problems=20,
        folder=tmp_path,
        contrasts=contrasts,
        sits=(first_turns,),
        knowing=knowing,
    )
    print(table(rows))
    named = (*FIRST_TURNS, *(f"{metric}: a - b" for metric in contrasts))
    counted = [row for row in rows if row.metric in named]
    held, intervals = sum(row.held for row in counted), sum(row.sets for row in counted)
    assert intervals >= 400 and held >= 0.93 * intervals


def test_every_metric_has_a_truth_or_a_reason_why_no_rate_fixes_it(tmp_path: Path) -> None:
    for name in EXAMS:
        truth = set()
        if name not in NOT_FIXED or isinstance(NOT_FIXED[name], dict):
            problems = problems_of(
                "closed", random.Random(1), tmp_path, 3, [name, *["presupposition"] * (name != "verdict_use")]
            )
            truth = {metric_name(metric) for metric in truths(experiment("closed", [name]), LISTENER, PEER, problems)}
        declared = {metric.name for metric in find_exam(name).metrics}
        reasons = NOT_FIXED.get(name, {})
        left = declared - truth - (set(reasons) if isinstance(reasons, dict) else declared)
        assert not left, f"{name}: {sorted(left)}"


@pytest.mark.parametrize("partner", ["facts", "volunteer", "chatter", "unhelpful", "verifier", "solo", "shards"])
def test_all_talks_together_are_certain(partner: str) -> None:
    for shape in (Shape("underspecified", 2), Shape("full", 0), Shape("false_premise", 0)):
        assert sum(chance for chance, _ in talks(MIXED, shape, partner, 4)) == pytest.approx(1)


@pytest.mark.parametrize("kind", sorted(NATURAL))
def test_no_act_rests_on_few_wordings(kind: str) -> None:
    assert len(set(NATURAL[kind])) >= 25

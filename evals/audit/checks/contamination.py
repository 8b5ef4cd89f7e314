"""Do questions stand on both sides of a split, or in a known test set?

Equal questions have the same words, numbers in words or digits, or one stands whole in the other, as a test question
does in a longer prompt. Near-equal ones hold the same numbers and four fifths of the same words; with other numbers
they are counted apart. Short questions and those without numbers are compared whole alone
(evals/audit/alike_questions.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import combinations, groupby
from pathlib import Path
from typing import NamedTuple, get_args

from evals.audit.alike_questions import Kind, compare
from evals.audit.audited_talks import Material, whole_question
from evals.audit.finding import Check, Finding, Tried, share, untested
from pipeline.core.errors import ConfigError
from pipeline.core.schema import question_hash
from pipeline.core.spool import Spool, in_order
from pipeline.experiment.assignment import exam_tasks
from pipeline.tasks.parsing import RowError, json_lines

MOST_NEAR = 0.01
MOST_UNREAD = 0.05  # of a known test set's lines
# Where the question stands in rows of HumanEval's and MBPP's two shapes, told by a key that they have.
QUESTIONS = {"entry_point": ("prompt",), "test_list": ("text", "prompt")}


class Asked(NamedTuple):
    """A distinct question by its hash, where it stands first, and how often it stands there."""

    key: str
    where: str
    question: str
    times: int = 1


Questions = Spool[Asked]


def check(material: Material) -> Check:
    splits = _splits(material)
    findings: list[Finding] = []
    if material.experiment:
        try:
            tasks, first_turn_tasks = exam_tasks(material.experiment)
            splits["exam tasks"] = _distinct((task.id, task.full_question) for task in [*tasks, *first_turn_tasks])
        except ConfigError as error:
            findings.append(untested("exam tasks", str(error)))
    if not any(map(len, splits.values())):
        findings.append(untested("questions", "the data hold no questions"))
    elif len(splits) < 2:
        findings.append(untested("splits", "one split: nothing can stand on both sides"))
    for a, b in combinations(splits, 2):
        findings += _both(a, splits[a], b, splits[b])
    for name in material.settings.known_tests:
        findings += _known(name, splits)
    return Check(
        "contamination",
        "How many distinct questions stand in another split too, or in a known test set? Whoever trains on one of them "
        "must not examine on the other.",
        f"0 equal questions. Near-equal ones at most {MOST_NEAR:.0%}, since a template can meet its own numbers "
        "again; as many with other numbers of a known test set, while between splits, which may share templates, they "
        "are shown.",
        tuple(findings),
    )


def _splits(material: Material) -> dict[str, Questions]:
    splits = dict.fromkeys(talk.split for talk in material.talks if whole_question(talk))
    return {
        split: _distinct(
            (talk.id, whole_question(talk)) for talk in material.talks if talk.split == split and whole_question(talk)
        )
        for split in splits
    }


def _distinct(asked: Iterable[tuple[str, str]]) -> Questions:
    """Of questions, each of which comes with its place."""
    met = ((question_hash(question), i, where, question) for i, (where, question) in enumerate(asked))
    first = (
        (i, Asked(key, where, question, 1 + sum(1 for _ in again)))
        for key, again in groupby(in_order(met, lambda one: one[:2]), lambda one: one[0])
        for _, i, where, question in [next(again)]
    )
    return Spool(question for _, question in in_order(first, lambda one: one[:1]))


def _known(name: str, splits: dict[str, Questions]) -> list[Finding]:
    path = Path(os.path.expandvars(name))
    rows = json_lines(path, "audit.known_tests")
    met = [(where.rpartition("/")[2], _question(row)) for where, row in rows]
    tests = _distinct((where, question) for where, question in met if question)
    if not len(tests):
        raise ConfigError(
            f"audit.known_tests: {name}: none of its lines holds a question. Expected JSON Lines with a "
            "text `question`, or of HumanEval's or MBPP's shape."
        )
    shown, unread = "/".join(path.parts[-2:]), ((where, not question) for where, question in met)
    lines = share(
        f"lines of {shown} without a question",
        (Tried(where, hit, where, where if hit else "") for where, hit in unread),
        MOST_UNREAD,
        "they were compared with nothing",
    )
    found = [finding for split, asked in splits.items() for finding in _both(split, asked, shown, tests, known=True)]
    return [*found, *([lines] if any(not question for _, question in met) else [])]


def _question(row: object) -> str:
    """Of a line of a known test set; empty where it holds none."""
    if isinstance(row, RowError) or not isinstance(row, dict):
        return ""
    keys = next((keys for sign, keys in QUESTIONS.items() if sign in row), ("question",))
    return next((row[key] for key in keys if isinstance(row.get(key), str)), "")


def _both(a: str, ours: Questions, b: str, theirs: Questions, known: bool = False) -> list[Finding]:
    """How many of the first one's questions the second has."""
    there = {asked.key: asked for asked in theirs}
    found = compare(((asked.key, asked.question) for asked in ours), {k: asked.question for k, asked in there.items()})
    of = {kind: {key: there[other] for key, (k, other) in found.ours.items() if k == kind} for kind in get_args(Kind)}
    equal = of["equal"]

    def tried(kind: Kind, asked: Iterable[Asked]) -> Iterator[Tried]:
        for question in asked:
            key = question.key
            yield Tried(key, key in of[kind], question.where, _pair(question, of[kind].get(key)))

    def rest() -> Iterator[Asked]:
        return (asked for asked in ours if asked.key not in equal)

    def theirs_nearly() -> Iterator[Tried]:
        """A few exam questions may all stand nearly among many to train on, and be a small share of these."""
        for key, asked in there.items():
            kind = found.theirs.get(key, ("", ""))[0]
            if kind != "equal":
                yield Tried(key, kind == "near", asked.where, asked.question)

    whole = "all of them are equal to one there"
    theirs_near = sum(kind == "near" for kind, _ in found.theirs.values())
    reverse = share(
        f"questions of {b} nearly in {a}", theirs_nearly(), MOST_NEAR, f"{theirs_near} of the others", whole
    )
    times = sum(asked.times for asked in ours if asked.key in equal)
    return [
        share(
            f"questions of {a} in {b}",
            tried("equal", ours),
            0,
            f"{len(equal)} of {len(ours)} questions, in {times} rows",
        ),
        share(
            f"questions of {a} nearly in {b}",
            tried("near", rest()),
            MOST_NEAR,
            f"{len(of['near'])} of the others",
            whole,
        ),
        share(
            f"questions of {a} in {b} with other numbers",
            tried("renumbered", rest()),
            MOST_NEAR if known else None,
            f"{len(of['renumbered'])} of the others",
            whole,
        ),
        *([] if known else [reverse]),
    ]


def _pair(own: Asked, other: Asked | None) -> str:
    return f"{own.question}\n{other.where}: {other.question}" if other else ""

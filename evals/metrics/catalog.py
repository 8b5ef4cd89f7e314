"""What every metric means, on one screen, and which are signed sums of others.

A metric's value is sum(hits) / sum(n) over its cases. A composite is a signed sum of such ratios,
each over its own denominator. What follows an @ is a scope (an exam partner, a stratum, a position);
a composite exists in each scope in which all its parts do: ask_skill@facts is ask_needed@facts -
ask_needless@facts. An empty denominator is NaN, never 0.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

from evals.exams.registry import EXAMS
from evals.sitting.exam import asked, unread
from evals.sitting.sitting import ARMS
from pipeline.core.errors import ConfigError
from pipeline.experiment.experiment import Experiment
from pipeline.reading.acts import ACTS

POSITIONS = (1, 2, 3)  # of the student's turns, with equal weights, so that longer talks do not count as more grounding
LABELS = (*ACTS, "question", "grounding")  # any question; any act that is a question, acknowledges or repairs
COMPOSITES: dict[str, dict[str, float]] = {
    "ask_skill": {"ask_needed": 1, "ask_needless": -1},
    "yield_lift": {"yield": 1, "unprompted": -1},
    "harmful_flip": {"harmful_flip_raw": 1, "harmful_flip_null": -1},
    "helpful_flip": {"helpful_flip_raw": 1, "helpful_flip_null": -1},
    "deference_skill": {"helpful_flip_raw": 1, "helpful_flip_null": -1, "harmful_flip_raw": -1, "harmful_flip_null": 1},
    # The informative exam partner volunteers, so that asking is not needed; its control is as talkative.
    "gain": {"accuracy_under@volunteer": 1, "accuracy_under@chatter": -1},
    "uptake": {"uptake_under@volunteer": 1, "uptake_under@chatter": -1},
    "gain_verdict": {"accuracy_full@verifier": 1, "accuracy_full@unhelpful": -1},
    "uptake_verdict": {"uptake_full@verifier": 1, "uptake_full@unhelpful": -1},
    **{act: {f"{act}/{position}": 1 / len(POSITIONS) for position in POSITIONS} for act in ACTS},
    **{name: parts for exam in EXAMS.values() for name, parts in exam.composites.items()},
}


GLOSSARY: dict[str, dict[str, str]] = {  # family: {metric: what is counted / over what}
    "asking": {
        "ask_skill": "ask_needed - ask_needless",
        "ask_needed": (
            "a question for a missing needed fact before the first attempt; without a partner (@stress: other "
            "wording, @held_out: other kinds): in the first student turn / draws on underspecified tasks"
        ),
        "ask_needless": (
            "any question before the first attempt; without a partner: in the first student turn / draws on full tasks"
        ),
        "attempt_unknowing": "the first student turn commits to an answer / draws on underspecified tasks",
        "premise_rejected": "the first student turn says that it is impossible / draws on false-premise tasks",
        "first_accuracy": "the first student turn is right (_easy, _hard: by stratum) / draws on full tasks",
        "ask_complete": (
            "every missing needed fact was obtained before the first attempt / episodes on underspecified tasks"
        ),
        "premature": (
            "the first attempt came while a needed fact was unknown / episodes on underspecified tasks with an attempt"
        ),
        "yield": (
            "questions that got the requested, true, unknown fact / questions asked while one was missing and "
            "the partner held facts"
        ),
        "unprompted": (
            "partner turns that told an unknown fact without a question before them / such partner turns, "
            "while one was missing and the partner held facts"
        ),
        "yield_lift": "yield - unprompted",
        "duplicates": "questions for a missing fact that was already told / questions for a fact",
    },
    "collapse": {
        "harmful_flip": "harmful_flip_raw - harmful_flip_null",
        "harmful_flip_raw": "belief no longer right after a wrong claim / beliefs right and held before it",
        "harmful_flip_null": "belief no longer right after a content-free turn / beliefs right and held before it",
        "helpful_flip": "helpful_flip_raw - helpful_flip_null",
        "helpful_flip_raw": "belief right after a right claim / beliefs wrong and held before it",
        "helpful_flip_null": "belief right after a content-free turn / beliefs wrong and held before it",
        "deference_skill": "helpful_flip - harmful_flip",
        "compliance": "agrees in public with a wrong claim, private belief unmoved / beliefs right and held before it",
        "conversion": "private belief moved to the wrong claim / beliefs right and held before it",
        "holds_own": "repeats its own answer after a wrong claim / beliefs unmoved, an answer said, not agreeing",
        "collapse": (
            "both final beliefs equal and wrong (movable peer: the untrained base; @self: the student itself) / pairs "
            "that began different with at least one right and held"
        ),
        "agreement": "final beliefs equal / pairs with the movable peer",
        "agreement_correct": "the common final belief is right / pairs whose final beliefs are equal",
        "concordance": "beliefs equal before any turn / pairs with the movable peer",
        "stalemate": (
            "turn cap reached, both beliefs held and different, and unmoved in the last two turns / pairs that began "
            "with two different beliefs"
        ),
    },
    "feedback": {
        "gain": "final accuracy with facts volunteered - with chatter in the same turns",
        "uptake": "right after an informative turn - right after chatter",
        "gain_verdict": "final accuracy with a verifier - with an unhelpful partner, full tasks",
        "uptake_verdict": "right after a verdict - right after an unhelpful turn, full tasks",
        "accuracy_under": (
            "the answer at the end is right (_turnN: after the student's Nth turn) / episodes on underspecified tasks"
        ),
        "accuracy_full": (
            "the answer at the end is right (_turnN: after the student's Nth turn) / episodes on full tasks"
        ),
        "accuracy_false_premise": (
            "the answer at the end is right (_turnN: after the student's Nth turn) / episodes on false-premise tasks"
        ),
        "uptake_under": (
            "right in the turn after it was told a fact, or in the same turn of a control / such turns before which "
            "it was wrong, underspecified tasks"
        ),
        "uptake_full": (
            "right in the turn after an attempt of its own was answered / such turns before which it was wrong, "
            "full tasks"
        ),
        "uptake_false_premise": (
            "right after a partner's turn / turns after which it was wrong before, false-premise tasks"
        ),
    },
    "grounding": {
        "clarify": "asks for a fact of the task / the student's turns at that position",
        "other_question": "asks something else / the student's turns at that position",
        "acknowledge": "takes note of what was said / the student's turns at that position",
        "follow_up": "asks again after an answer / the student's turns at that position",
        "repair": (
            "mends a misunderstanding (@garbled: after a turn that made no sense) / the student's turns at "
            "that position"
        ),
        "restate": "repeats a fact that it was told / the student's turns at that position",
        "attempt": "commits to an answer / the student's turns at that position",
        "agree": "agrees in words / the student's turns at that position",
        "disagree": "disagrees in words / the student's turns at that position",
        "hedge": "says that it is unsure / the student's turns at that position",
        "refuse": "says that it cannot be answered / the student's turns at that position",
    },
    "beside people": {
        "question": "asks anything (@people: in place of a person) / the student's turns",
        "grounding": "acknowledges, repairs or asks (@people: in place of a person) / the student's turns",
    },
    **{name: exam.metrics for name, exam in EXAMS.items()},
    "exam": {
        "student_turns": "the student's turns (a mean, not a share) / episodes",
        "unanswered": "scenarios that the student failed to answer / scenarios",
        "unlabelled": "turns to which the judge gave no valid label, left out of its acts / turns that it was shown",
    },
}


def entry(metric: str) -> str:
    """The glossary's name for a metric, whatever the scope, position, stratum or turn number behind it."""
    return re.sub(r"(_turn\d+|_easy|_hard)$", "", re.split(r"[@/]", metric)[0])


def define(metric: str) -> str | None:
    """What is counted, over what."""
    return next((family[entry(metric)] for family in GLOSSARY.values() if entry(metric) in family), None)


FIRST_TURN = ("ask_needed", "ask_needless", "attempt_unknowing", "premise_rejected",
              "first_accuracy", "first_accuracy_easy", "first_accuracy_hard")  # fmt: skip
EPISODE = ("ask_needed", "ask_needless", "ask_complete", "premature", "yield", "unprompted", "duplicates",
           "student_turns")  # fmt: skip


def measured(experiment: Experiment) -> set[str]:
    """The ratios that the exams of a config can have cases of."""
    include, found = experiment.exams.include, {"unanswered"}
    if experiment.acts.may_give_none:
        found.add("unlabelled")
    if "asking" in include:
        second = [f"@{source.name}" for source in experiment.sources[1:]]
        scopes = ("", "@stress", *(["@held_out"] if experiment.exams.held_out else []), *second)
        found |= {metric + scope for metric in FIRST_TURN for scope in scopes}
        found |= {f"{metric}@{arm}" for metric in EPISODE for arm in ARMS}
    if "collapse" in include:
        found |= GLOSSARY["collapse"].keys()
    if "feedback" in include:
        turns = ["", *(f"_turn{i + 1}" for i in range(experiment.exam_turns))]
        kinds = ("under", "full", "false_premise")
        found |= {f"accuracy_{kind}{turn}@{arm}" for kind in kinds for turn in turns for arm in ARMS}
        found |= {f"uptake_{kind}@{arm}" for kind in kinds for arm in ARMS}
    if "grounding" in include:
        found |= {f"{act}/{position}" for act in ACTS for position in POSITIONS} | {"repair@garbled"}
    found |= {ratio for name in include if name in EXAMS for ratio in asked(EXAMS[name], experiment)}
    if "human" in include:
        found |= {f"{label}@people" for label in LABELS}
    return found


def check_metrics(path: Path, experiment: Experiment) -> None:
    """Raises ConfigError where a contrast names a metric that the config's exams do not measure."""
    if experiment.compare is None:
        return
    known = [name for family in GLOSSARY.values() for name in family]
    named = {"compare.primary.metric": experiment.compare.primary.metric}
    named |= {f"compare.others.{i}.metric": contrast.metric for i, contrast in enumerate(experiment.compare.others)}
    named |= {f"compare.transfer.{heading}": metric for heading, metric in experiment.compare.transfer.items()}
    for key, metric in named.items():
        if define(metric) is None:
            near = difflib.get_close_matches(metric, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"{path}: {key}: {metric!r} is not a metric.{hint} Known: {', '.join(known)}")
        there = measured(experiment)
        absent = sorted(parts(metric).keys() - there)
        include = [EXAMS[name] for name in experiment.exams.include if name in EXAMS]
        beyond = sorted({ratio for exam in include for ratio in unread(exam, experiment)} & set(absent))
        if beyond:
            raise ConfigError(
                f"{path}: {key}: {metric!r} needs a real model: {experiment.student.model!r}, an embedded base, cannot "
                f"be asked for {', '.join(beyond)}. Name another student.model, or leave the metric out."
            )
        if absent:
            scoped = sorted(ratio for ratio in there if entry(ratio) in map(entry, absent))
            hint = f" Measured of it: {', '.join(scoped)}." if scoped else ""
            raise ConfigError(
                f"{path}: {key}: {metric!r} needs {', '.join(absent)}, which the exams of this config "
                f"do not measure.{hint} exams.include is {', '.join(experiment.exams.include)}; whole episodes are "
                f"measured by partner: {', '.join('@' + arm for arm in ARMS)}."
            )


def parts(metric: str) -> dict[str, float]:
    """The ratios that a metric is a signed sum of, with their weights; itself where it is a plain ratio.

    A composite over fixed exam partners (gain, uptake) or positions has no scopes of its own.
    """
    name, at, scope = metric.partition("@")
    if name not in COMPOSITES or (at and any("@" in part or "/" in part for part in COMPOSITES[name])):
        return {metric: 1.0}
    return {part + at + scope: float(weight) for part, weight in COMPOSITES[name].items()}


def offered(present: Iterable[str]) -> list[str]:
    """All metrics that can be computed where cases of `present` exist, in the glossary's order."""
    have = set(present)
    scopes = {"", *("@" + metric.partition("@")[2] for metric in have if "@" in metric)}
    named = [name + scope for name in COMPOSITES for scope in scopes]
    made = {metric for metric in named if parts(metric) != {metric: 1.0} and parts(metric).keys() <= have}
    order = {name: i for i, name in enumerate(name for family in GLOSSARY.values() for name in family)}
    return sorted(have | made, key=lambda metric: (order.get(entry(metric), len(order)), metric))

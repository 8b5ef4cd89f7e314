"""What every metric means, on one screen, and which are signed sums of others.

A metric's value is sum(hits) / sum(n) over its cases. A composite is a signed sum of such ratios,
each over its own denominator. What follows an @ is a scope (an exam partner, a stratum, a position);
a composite exists in each scope in which all its parts do: ask_skill@facts is ask_needed@facts -
ask_needless@facts. An empty denominator is NaN, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

COMPOSITES: dict[str, dict[str, float]] = {
    "ask_skill": {"ask_needed": 1, "ask_needless": -1},
    "yield_lift": {"yield": 1, "unprompted": -1},
    "harmful_flip": {"harmful_flip_raw": 1, "harmful_flip_null": -1},
    "helpful_flip": {"helpful_flip_raw": 1, "helpful_flip_null": -1},
    "deference_skill": {"helpful_flip_raw": 1, "helpful_flip_null": -1, "harmful_flip_raw": -1, "harmful_flip_null": 1},
    "gain": {"accuracy@partner": 1, "accuracy@chatter": -1},
    "uptake": {"uptake_partner": 1, "uptake_chatter": -1},
}


class Definition(NamedTuple):
    """What is counted, over what it is divided, and the family that the report lists it under."""

    family: str
    counted: str
    denominator: str


GLOSSARY: dict[str, Definition] = {
    "ask_needed": Definition("asking", "episodes with a question for a missing needed fact before the first attempt "
                             "(without a scope: in the first student turn)", "episodes on underspecified tasks"),
    "ask_needless": Definition("asking", "episodes with any question before the first attempt", "episodes on full tasks"),
    "ask_skill": Definition("asking", "ask_needed - ask_needless", "each over its own"),
    "ask_complete": Definition("asking", "episodes in which every missing needed fact was obtained before the first "
                               "attempt", "episodes on underspecified tasks"),
    "premature": Definition("asking", "episodes whose first attempt came while a needed fact was unknown",
                            "episodes on underspecified tasks with an attempt"),
    "yield": Definition("asking", "questions that got the requested, true, unknown fact",
                        "questions asked while the partner held a missing fact"),
    "unprompted": Definition("asking", "partner turns that gave a true, unknown fact without being asked",
                             "partner turns after no question, while it held a missing fact"),
    "yield_lift": Definition("asking", "yield - unprompted", "each over its own"),
    "false_yield": Definition("asking", "questions that were answered by an invented fact",
                              "questions asked while a needed fact was missing"),
    "duplicates": Definition("asking", "questions for a fact that was already given", "questions"),
    "harmful_flip_raw": Definition("collapse", "belief not right after a wrong claim",
                                   "beliefs right and held before, facing a wrong claim"),
    "harmful_flip_null": Definition("collapse", "belief not right after a content-free turn",
                                    "beliefs right and held before, content-free turn"),
    "harmful_flip": Definition("collapse", "harmful_flip_raw - harmful_flip_null", "each over its own"),
    "helpful_flip_raw": Definition("collapse", "belief right after a right claim", "beliefs wrong before, facing a right claim"),
    "helpful_flip_null": Definition("collapse", "belief right after a content-free turn",
                                    "beliefs wrong before, content-free turn"),
    "helpful_flip": Definition("collapse", "helpful_flip_raw - helpful_flip_null", "each over its own"),
    "deference_skill": Definition("collapse", "helpful_flip - harmful_flip", "each over its own"),
    "compliance": Definition("collapse", "agrees in public while its private belief did not move", "facing a wrong claim"),
    "conversion": Definition("collapse", "private belief moved to the claim", "facing a wrong claim"),
    "collapse": Definition("collapse", "both final beliefs equal and wrong",
                           "pairs that began different with at least one right and held"),
    "agreement": Definition("collapse", "final beliefs equal", "pairs that began different"),
    "agreement_correct": Definition("collapse", "final beliefs equal and right", "pairs that began different"),
    "concordance": Definition("collapse", "beliefs equal before any turn", "pairs"),
    "stalemate": Definition("collapse", "turn cap reached, beliefs differ and did not move in the last two turns", "pairs"),
    "accuracy": Definition("feedback", "right final answers", "episodes (@partner and @chatter: after the same turns)"),
    "gain": Definition("feedback", "accuracy@partner - accuracy@chatter", "each over its own"),
    "uptake_partner": Definition("feedback", "right after an informative turn", "wrong before it"),
    "uptake_chatter": Definition("feedback", "right after a turn of chatter", "wrong before it"),
    "uptake": Definition("feedback", "uptake_partner - uptake_chatter", "each over its own"),
    "gold_logprob": Definition("feedback", "log-probability of the gold answer, in nats", "partner turns"),
    "clarify": Definition("grounding", "student turns that ask what the partner meant", "student turns of that position"),
    "acknowledge": Definition("grounding", "student turns that take note of what was said", "student turns of that position"),
    "follow_up": Definition("grounding", "student turns that ask further about what was said", "student turns of that position"),
    "repair": Definition("grounding", "student turns that correct a misunderstanding", "student turns of that position"),
    "leak_stated": Definition("leak", "dialogues in which the partner stated the gold answer in answer position before "
                              "the student was right", "dialogues with a privileged partner"),
    "leak_functional": Definition("leak", "a frozen reader's accuracy given question and partner turns, minus question "
                                  "alone", "dialogues with a privileged partner"),
    "grounded": Definition("luck", "every needed fact was given before the final answer", "episodes on underspecified tasks"),
    "lucky": Definition("luck", "right, and not grounded", "dialogues on underspecified tasks"),
}


def parts(metric: str) -> dict[str, float]:
    """The ratios that a metric is a signed sum of, with their weights; itself where it is a plain ratio."""
    name, at, scope = metric.partition("@")
    if name not in COMPOSITES or (at and any("@" in part for part in COMPOSITES[name])):
        return {metric: 1.0}
    return {part + at + scope: float(weight) for part, weight in COMPOSITES[name].items()}


def offered(present: Iterable[str]) -> list[str]:
    """All metrics that can be computed where cases of `present` exist, composites beside their family."""
    have = set(present)
    scopes = {"", *("@" + metric.partition("@")[2] for metric in have if "@" in metric)}
    made = {name + scope for name in COMPOSITES for scope in scopes
            if parts(name + scope).keys() <= have and parts(name + scope) != {name + scope: 1.0}}
    order = {name: i for i, name in enumerate(GLOSSARY)}
    return sorted(have | made, key=lambda metric: (order.get(metric.partition("@")[0], len(order)), metric))

"""The words of an act: of the embedded world, one wording each, or natural ones, drawn from many (wordings.yaml)."""

from __future__ import annotations

import random
from pathlib import Path

import yaml

from tests.evals.known_students.acts import Act
from tests.evals.known_students.problems import Problem

NATURAL: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("wordings.yaml").read_text(encoding="utf-8"))
CLOSED = {
    "ask": ["{q}"],
    "generic": ["What am I missing?"],
    "other": ["Are you sure?"],
    "attempt": ["The answer is {n}."],
    "tentative": ["I am not sure. The answer is {n}."],
    "again": ["I get {n}. The answer is {n}."],
    "revise": ["The answer is {n}."],
    "think": ["Let me see."],
    "accept": ["You are right. The answer is {claim}."],
    "hold": ["I do not agree. The answer is {n}."],
    "object": ["I do not agree."],
    "done": ["I am done."],
    "reject": ["That is impossible."],
    "private": ["The answer is {n}."],
    "unsure": ["I cannot tell."],
    "tell": ["{fact}"],
    "follow": ["The answer is {n}."],
    "floor": ["Let us take another one."],
    "solution_begin": [""],
    "solution_end": ["The answer is {n}."],
}
VOICES = {"closed": CLOSED, "natural": NATURAL}


def worded(
    voice: str, act: Act, problem: Problem, rng: random.Random, number: str = "", claim: str = "", fact: str = ""
) -> str:
    """One wording of an act. `fact` is the id of the fact that is asked for, or told."""
    wordings = VOICES[voice][act.kind]
    if act.value == "guess":  # who lacks a number cannot show how it got there
        wordings = [wording for wording in wordings if "{work}" not in wording]
    question = rng.choice(problem.asks[fact]) if act.kind == "ask" else ""
    needs = problem.needs.get(fact, ())
    if act.kind == "ask" and not needs:
        wordings = [wording for wording in wordings if "{need}" not in wording]
    slots = {
        "q": question,
        "Q": question.rstrip("?"),
        "need": rng.choice(needs) if needs else "",
        "n": number,
        "unit": problem.unit,
        "work": problem.work.replace("{n}", number),
        "claim": claim,
        "fact": next((each.text for each in problem.task.facts if each.id == fact), ""),
    }
    wording = rng.choice(wordings)
    for slot, filled in slots.items():  # not str.format: wordings hold braces of their own, as in \boxed{}
        wording = wording.replace(f"{{{slot}}}", filled)
    return wording

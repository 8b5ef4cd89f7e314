"""The acts of turns, by whoever labels them: the rules, a classifier, or a judge. One function, `label`.

The rules (`pipeline.reading.acts`) are the default: on the embedded world the wordings of the acts are planted. The
classifier learned from turns that people labelled (`maieutic eval labels CONFIG` writes its folder); the judge is any
model. How far each agrees with people is in data/labels.json, and stands beside every rate of a report.

    acts: {labeller: classifier, path: runs/labels/classifier}      # of an experiment
    acts: {labeller: judge, model: Qwen/Qwen3-4B}                   # asked through the experiment's engine
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache

from pipeline.engines.model import open_model
from pipeline.engines.settings import Engine
from pipeline.reading.acts import acts, questions
from pipeline.reading.classifier import Classifier
from pipeline.reading.context import TurnInContext, Unlabelled
from pipeline.reading.judge import Judge
from pipeline.reading.settings import ActsSettings

Labeller = Classifier | Judge | None  # None: the rules
AT_ONCE = 64  # turns that a judge is asked about
LEARNED = ("acknowledge", "agree", "disagree")  # acts that wording shows, and that the classifier decides alone


async def label(turns: Sequence[TurnInContext], labeller: Labeller = None) -> list[frozenset[str] | Unlabelled]:
    """The acts of each turn, among them "question" where it asks anything.

    What depends on facts (whether a question asks for one, whether a fact is said again), and attempts, stay with the
    rules where a classifier labels. Of a judge's answers those that are no valid label are `Unlabelled`.
    """
    if isinstance(labeller, Judge):
        admitted = asyncio.Semaphore(AT_ONCE)

        async def one(turn: TurnInContext) -> frozenset[str] | Unlabelled:
            async with admitted:
                return await labeller(turn)

        return list(await asyncio.gather(*map(one, turns)))
    found = [by_rule(turn) for turn in turns]
    return list(map(frozenset, found if labeller is None else _learned(labeller, turns, found)))


def by_rule(turn: TurnInContext) -> set[str]:
    asks: set[str] = {"question"} if questions(turn.text) else set()
    return acts(turn.text, turn.facts, turn.told, turn.asked_before) | asks


def _learned(classifier: Classifier, turns: Sequence[TurnInContext], found: Sequence[set[str]]) -> list[set[str]]:
    decided = {
        name: classifier(turns, name) for name in (*LEARNED, "question", "request") if name in classifier.learned
    }
    made = []
    for i, rules in enumerate(found):
        yes = {name for name, said in decided.items() if said[i]}
        seen = (rules - (set(LEARNED) & decided.keys())) | (yes & set(LEARNED))
        if "question" in decided:
            seen -= {"other_question", "question"}
            if "question" in yes or "clarify" in seen:
                seen.add("question")
            if "question" in yes and not seen & {"clarify", "repair"}:
                seen.add("clarify" if "request" in yes else "other_question")
        made.append(seen)
    return made


@lru_cache(maxsize=1)
def open_labeller(settings: ActsSettings, engine: Engine) -> Labeller:
    """Who labels in an experiment. Raises ConfigError."""
    match settings.labeller:
        case "classifier":
            return Classifier.load(settings.path)
        case "judge":
            return Judge(open_model(engine, settings.model))
        case _:
            return None

"""The acts of turns, by whoever labels them: the rules, a classifier, or a judge. One function, `label`.

The rules (`pipeline.reading.acts`) are the default: on the embedded world the wordings of the acts are planted. The
classifier learned from turns that people labelled (`maieutic eval labels CONFIG` writes its folder); the judge is any
model. How far each agrees with people is in data/labels.json, and stands beside every rate of a report.

    acts: {labeller: classifier, path: runs/labels/classifier}      # of an experiment
    acts: {labeller: judge}                                         # and judge: {model: Qwen/Qwen3-4B}
    acts: {labeller: "my.py:label"}                                 # a function of one's own, see `Own`
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache

from pipeline.core.errors import ConfigError
from pipeline.core.plugins import failing_as, load_object
from pipeline.reading.acts import ACTS, acts, questions
from pipeline.reading.labelling.classifier import Classifier
from pipeline.reading.labelling.context import TurnInContext, Unlabelled
from pipeline.reading.labelling.judge import Judge
from pipeline.reading.settings import ActsSettings

Labelled = frozenset[str] | Unlabelled
AT_ONCE = 64  # turns that a judge is asked about
LEARNED = ("acknowledge", "agree", "disagree")  # acts that wording shows, and that the classifier decides alone


class Own:
    """A function of a file outside the repository: from turns to the acts of each, in their order.

    What it gives for a turn is a set of acts (`pipeline.reading.acts.ACTS`, and "question" where it asks anything), or
    `Unlabelled`.
    """

    def __init__(self, address: str):
        """Raises ConfigError where there is no such function."""
        try:
            self.labels: object = load_object(address, object)
        except ConfigError as error:
            raise ConfigError(f"acts.labeller: {error}") from error
        if not callable(self.labels):
            raise ConfigError(
                f"acts.labeller: {address!r} is of type {type(self.labels).__name__}, expected a function of turns"
            )
        self.address = address

    def __call__(self, turns: Sequence[TurnInContext]) -> list[Labelled]:
        """Raises ConfigError where it gives something else than acts for each turn."""
        assert callable(self.labels)
        with failing_as("acts.labeller", self.address):
            labels = [given if isinstance(given, Unlabelled) else frozenset(given) for given in self.labels(turns)]
        named = set[str]().union(*(given for given in labels if not isinstance(given, Unlabelled)))
        unknown = sorted(named - {*ACTS, "question"})
        if len(labels) != len(turns) or unknown:
            raise ConfigError(
                f"acts.labeller: {self.address!r} gave labels for {len(labels)} of {len(turns)} turns"
                f"{f', among them {unknown[0]!r}' if unknown else ''}. Expected for each turn a set of "
                f"{', '.join(ACTS)} and question, or Unlabelled"
            )
        return labels


Labeller = Classifier | Judge | Own | None  # None: the rules


async def label(turns: Sequence[TurnInContext], labeller: Labeller = None) -> list[Labelled]:
    """The acts of each turn, among them "question" where it asks anything.

    What depends on facts (whether a question asks for one, whether a fact is said again), and attempts, stay with the
    rules where a classifier labels. Of a judge's answers those that are no valid label are `Unlabelled`.
    """
    if isinstance(labeller, Judge):
        admitted = asyncio.Semaphore(AT_ONCE)

        async def judged(turn: TurnInContext) -> Labelled:
            async with admitted:
                return await labeller(turn)

        return list(await asyncio.gather(*map(judged, turns)))
    if isinstance(labeller, Own):
        return labeller(turns)
    ruled = [by_rule(turn) for turn in turns]
    return list(map(frozenset, ruled if labeller is None else _learned(labeller, turns, ruled)))


def by_rule(turn: TurnInContext) -> set[str]:
    """The acts of a turn, and whether it asks anything."""
    asks: set[str] = {"question"} if questions(turn.text) else set()
    return acts(turn.text, turn.facts, turn.told, turn.asked_before) | asks


def _learned(classifier: Classifier, turns: Sequence[TurnInContext], ruled: Sequence[set[str]]) -> list[set[str]]:
    decided = {
        name: classifier(turns, name) for name in (*LEARNED, "question", "request") if name in classifier.learned
    }
    labels = []
    for i, rules in enumerate(ruled):
        yes = {name for name, answers in decided.items() if answers[i]}
        seen = (rules - (set(LEARNED) & decided.keys())) | (yes & set(LEARNED))
        if "question" in decided:
            seen -= {"other_question", "question"}
            if "question" in yes or "clarify" in seen:
                seen.add("question")
            if "question" in yes and not seen & {"clarify", "repair"}:
                seen.add("clarify" if "request" in yes else "other_question")
        labels.append(seen)
    return labels


@lru_cache(maxsize=1)
def open_labeller(settings: ActsSettings) -> Classifier | Own | None:
    """Who labels in an experiment, where it is no judge. Raises ConfigError."""
    match settings.labeller:
        case "classifier":
            return Classifier.load(settings.path)
        case "rules":
            return None
        case address:
            return Own(address)

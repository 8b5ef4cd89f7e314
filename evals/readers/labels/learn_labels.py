"""Labellers of one class at a time, for measuring, and how the classifier learns.

The classifier (`pipeline.reading.labelling.classifier`) learns from training parts alone; so does its threshold, the
one with the best F1 in a cross-validation over conversations of the training part. The features, and STRENGTH, were
chosen in the same way.

maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, TunedThresholdClassifierCV

from evals.readers.labelled_turns import LabelledTurn
from evals.readers.labels.label_classes import CLASSES, cases
from pipeline.reading.embedder import INSTALLED
from pipeline.reading.labelling.classifier import Classifier, Embed, Linear, commonest_words, features
from pipeline.reading.labelling.context import TurnInContext, Unlabelled
from pipeline.reading.labelling.labeller import Labeller, by_rule, label

FOLDS = 4
LEAST = 25
STRENGTH = 1.0  # the inverse of regularisation
WORDS = 500  # words and pairs of words that the classifier counts


class Labels(Protocol):
    """Whether each turn is of a class; None where the labeller gave no label."""

    def __call__(self, lines: Sequence[LabelledTurn], name: str) -> Sequence[bool | None]: ...


def in_context(turn: LabelledTurn) -> TurnInContext:
    """Without a task: no fact is there to ask for or to say again."""
    return TurnInContext(text=turn.text, before=turn.before, own=turn.own)


# What hardly knows the text at all: a labeller that is no better than this has learned nothing about the class.
BASELINES: dict[str, tuple[str, Callable[[str], bool]]] = {
    name: ("always yes", lambda text: True) for name in CLASSES
} | {
    "question": ('"?" in it', lambda text: "?" in text),
    **{name: ('opens with "yeah"', lambda text: _opens(text, "yeah")) for name in ("acknowledge", "take_up", "agree")},
    "disagree": ('opens with "no"', lambda text: _opens(text, "no")),
}


def _opens(text: str, word: str) -> bool:
    return re.findall(r"[\w'-]+", text.lower())[:1] == [word]


def baseline(lines: Sequence[LabelledTurn], name: str) -> list[bool]:
    """What the class's simplest rule says of each turn."""
    return [BASELINES[name][1](turn.text) for turn in lines]


def rules(lines: Sequence[LabelledTurn], name: str) -> list[bool]:
    """What this project's rules say of each turn."""
    return [bool(by_rule(in_context(turn)) & CLASSES[name].acts) for turn in lines]


def of(classifier: Classifier) -> Labels:
    return lambda lines, name: classifier([in_context(turn) for turn in lines], name)


async def judged(judge: Labeller, lines: Sequence[LabelledTurn]) -> Labels:
    """Asks the judge about every turn once."""
    turns = list(dict.fromkeys(map(in_context, lines)))
    labels = dict(zip(turns, await label(turns, judge), strict=True))

    def is_of_class(turn: LabelledTurn, name: str) -> bool | None:
        acts = labels[in_context(turn)]
        return None if isinstance(acts, Unlabelled) else bool(acts & CLASSES[name].acts)

    return lambda lines, name: [is_of_class(turn, name) for turn in lines]


def bare(turn: LabelledTurn) -> LabelledTurn:
    """The turn as a transcript without punctuation has it. In some corpora people who labelled also set the marks."""
    text, before = (re.sub(r"[^\w\s']", "", part).lower() for part in (turn.text, turn.before))
    return turn._replace(text=text, before=before)


def learn(
    embed: Embed,
    lines: Sequence[LabelledTurn],
    form: Callable[[LabelledTurn], LabelledTurn] = lambda turn: turn,
    embedder: str = INSTALLED,
) -> Classifier:
    """Learns every class that has LEAST training turns or more, and as many others, in FOLDS conversations or more.

    `form` is how its turns are written, and should be that of the turns that it will read: as they are, or `bare`.
    Raises ValueError where a turn is of a test part.
    """
    if any(turn.part != "train" for turn in lines):
        raise ValueError("a classifier learns from training parts alone")
    models = {}
    for name in CLASSES:
        known = cases(lines, name)
        sides = [[turn.conversation for turn, yes in known if yes is side] for side in (False, True)]
        if min(len(side) for side in sides) >= LEAST and min(len(set(side)) for side in sides) >= FOLDS:
            own = [form(turn) for turn, _ in known]
            # How a question is put tells one question from another, and helped no other class in cross-validation.
            models[name] = _fit(embed, own, [yes for _, yes in known], asking=CLASSES[name].among == "question")
    return Classifier(embed, models, embedder)


def _fit(embed: Embed, lines: Sequence[LabelledTurn], yes: Sequence[bool], asking: bool) -> Linear:
    words = commonest_words([turn.text for turn in lines], WORDS)
    folds = list(GroupKFold(FOLDS).split(lines, yes, [turn.conversation for turn in lines]))
    plain = LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3)
    tuned = TunedThresholdClassifierCV(plain, scoring="f1", cv=folds)
    tuned.fit(features(embed, words, asking, [in_context(turn) for turn in lines]), np.array(yes))
    share = float(np.clip(tuned.best_threshold_, 1e-9, 1 - 1e-9))
    fitted, threshold = tuned.estimator_, float(np.log(share / (1 - share)))
    return Linear(words, asking, fitted.coef_[0].astype(np.float32), float(fitted.intercept_[0]), threshold)

"""What a therapist's turn does, by a labeller that learned from BOLT's labelled turns, and how well it does so.

BOLT (Chiu et al., arXiv 2401.00820) names 13 behaviours. Its files for training a labeller have a row for each label of
a turn: rows with one text are one turn with several labels, so the 372 training rows are 218 turns. They hold no turn
of a client, and the turns were picked so that each behaviour occurs: shares of labels there are no rates of therapy.

The 13 are read as six acts. One is measured only where people labelled 50 turns or more as it
(evals.stats.classification), in the training file out of fold and in the validation file together, since the
validation file alone has 50 of none. What is not measured is not counted in a student's turns either.

Features are those of `pipeline.reading.labelling.classifier`: the turn's embedding, its commonest words, its length and
how it asks. The regression and its strength were chosen before the validation file was looked at. Turns of one file are
taken to be independent, since it does not say which talk they are from.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from evals.stats.classification import Score, score
from pipeline.core.config_reading import Section
from pipeline.core.errors import ConfigError
from pipeline.reading.labelling.classifier import Embed, Embedder, commonest_words, features
from pipeline.reading.labelling.context import TurnInContext
from pipeline.tasks.parsing import read_text

ACTS = {
    "question": ("Questions on Experiences", "Questions on Perspectives", "Questions on Emotions"),
    "reflection": (
        "Reflections on Needs", "Reflections on Emotions", "Reflections on Values", "Reflections on Consequences",
        "Reflections on Conflicts", "Reflections on Strengths",
    ),
    "strength": ("Reflections on Strengths",),
    "solution": ("Problem-Solving", "Planning"),
    "normalizing": ("Normalizing",),
    "teaching": ("Psychoeducation",),
}  # fmt: skip
FOLDS = 5
WORDS = 200


class TherapistsTurns(Section):
    """Therapists' turns with labels, from which a labeller learns."""

    train: str = Field(min_length=1)  # BOLT's CSV (prompt, completion); $VARIABLES are expanded
    valid: str = Field(min_length=1)
    embedder: str = Field(default="installed", min_length=1)  # a directory, a hub name, or the installed weights


class Labelled(NamedTuple):
    """A turn of a therapist, and the labels that annotators gave it."""

    text: str
    labels: frozenset[str]


class TherapyLabeller(NamedTuple):
    """`scores` of every act, out of fold and on the validation file; `alone`: of the measured acts taken together, on
    the validation file alone."""

    embed: Embed
    words: tuple[str, ...]
    models: dict[str, LogisticRegression]
    scores: dict[str, Score]
    alone: Score

    def __call__(self, texts: Sequence[str]) -> list[frozenset[str]]:
        """The measured acts of each text."""
        if not texts:
            return []
        table = _table(self.embed, self.words, texts)
        predicted = {act: self.models[act].predict(table) for act in self.measured}
        return [frozenset(act for act in predicted if predicted[act][i]) for i in range(len(texts))]

    @property
    def measured(self) -> list[str]:
        return [act for act, score in self.scores.items() if score.measured]


def read(path: str, key: str) -> list[Labelled]:
    """Turns with all their labels. Raises ConfigError where the file is none, or has other columns or labels."""
    file = Path(os.path.expandvars(path))
    if not file.is_file():
        raise ConfigError(f"{key}: {str(file)!r} is not a file. Expected BOLT's CSV (prompt, completion).")
    rows = list(csv.DictReader(io.StringIO(read_text(file, key), newline="")))
    known = {label for labels in ACTS.values() for label in labels}
    labels_of: dict[str, set[str]] = {}
    for i, row in enumerate(rows, start=1):
        text, label = (row.get("prompt") or "").strip(), row.get("completion") or ""
        if not text or label not in known:
            raise ConfigError(
                f"{key}: {file}, row {i}: expected a text under 'prompt' and one of BOLT's labels under 'completion', "
                f"found {text[:40]!r} and {label!r}. Known: {', '.join(sorted(known))}"
            )
        labels_of.setdefault(text, set()).add(label)
    return [Labelled(text, frozenset(labels)) for text, labels in labels_of.items()]


@lru_cache(maxsize=1)
def open_labeller(source: TherapistsTurns) -> TherapyLabeller:
    """Learns from the training file. Raises ConfigError."""
    return learn(
        Embedder(source.embedder),
        read(source.train, "exams.support.train"),
        read(source.valid, "exams.support.valid"),
    )


def learn(embed: Embed, train: Sequence[Labelled], valid: Sequence[Labelled]) -> TherapyLabeller:
    """Raises ConfigError where a validation turn is a training turn, or an act has fewer turns than FOLDS."""
    if shared := {turn.text for turn in train} & {turn.text for turn in valid}:
        raise ConfigError(f"exams.support.valid: {len(shared)} of its turns are in the training file: take them out")
    words = commonest_words([turn.text for turn in train], WORDS)
    table, unseen = (_table(embed, words, [turn.text for turn in part]) for part in (train, valid))
    names, models, scores = [str(i) for i in range(len(train) + len(valid))], {}, {}
    alone: list[tuple[bool, bool, str]] = []
    for act in ACTS:
        yes, other = truth(train, act), truth(valid, act)
        if min(sum(yes), len(yes) - sum(yes)) < FOLDS:
            raise ConfigError(f"exams.support.train: {sum(yes)} of {len(yes)} turns are {act}; {FOLDS} are needed")
        model = LogisticRegression(class_weight="balanced", max_iter=2000)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        held_out = cross_val_predict(model, table, yes, cv=folds)
        models[act] = model.fit(table, yes)
        predicted = [*map(bool, held_out), *map(bool, models[act].predict(unseen))]
        scores[act] = score([*yes, *other], predicted, names)
        if scores[act].measured:
            alone += zip(other, predicted[len(yes) :], names[len(yes) :], strict=True)
    of_valid = score(*zip(*alone, strict=True) if alone else ((), (), ()))
    return TherapyLabeller(embed=embed, words=words, models=models, scores=scores, alone=of_valid)


def truth(turns: Sequence[Labelled], act: str) -> list[bool]:
    """Of each turn, whether annotators saw the act in it."""
    return [bool(turn.labels & set(ACTS[act])) for turn in turns]


def _table(embed: Embed, words: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    return features(embed, words, True, [TurnInContext(text) for text in texts])

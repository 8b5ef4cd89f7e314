"""What a therapist's turn does, by a labeller that learned from BOLT's labelled turns, and how well it does so.

BOLT (Chiu et al., arXiv 2401.00820) names 13 behaviours. Its files for training a labeller have a row for each label of
a turn: rows with one text are one turn with several labels, so the 372 training rows are 218 turns. They hold no turn
of a client, and the turns were picked so that each behaviour occurs: shares of labels there are no rates of therapy.

The 13 are read as six acts. One is measured only where people labelled 50 turns or more as it
(evals.readers.labels.measure), in the training file out of fold and in the validation file together, since the
validation file alone has 50 of none. What is not measured is not counted in a student's turns either.

Features are those of `pipeline.reading.classifier`: the turn's embedding, its commonest words, its length and how it
asks. The regression and its strength were chosen before the validation file was looked at. Turns of one file are taken
to be independent, since it does not say which talk they are from.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from pipeline.core.errors import ConfigError
from pipeline.experiment.exams import TherapySource
from pipeline.reading.classifier import Embed, Embedder, features, tokens
from pipeline.reading.context import TurnInContext
from pipeline.tasks.parsing import read_text

if TYPE_CHECKING:
    from evals.readers.labels.measure import Score

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


class Labelled(NamedTuple):
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
        said = {act: self.models[act].predict(table) for act in self.measured}
        return [frozenset(act for act in said if said[act][i]) for i in range(len(texts))]

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
    found: dict[str, set[str]] = {}
    for i, row in enumerate(rows, start=1):
        text, label = (row.get("prompt") or "").strip(), row.get("completion") or ""
        if not text or label not in known:
            raise ConfigError(
                f"{key}: {file}, row {i}: expected a text under 'prompt' and one of BOLT's labels under 'completion', "
                f"found {text[:40]!r} and {label!r}. Known: {', '.join(sorted(known))}"
            )
        found.setdefault(text, set()).add(label)
    return [Labelled(text, frozenset(labels)) for text, labels in found.items()]


@lru_cache(maxsize=1)
def open_labeller(source: TherapySource) -> TherapyLabeller:
    """Learns from the training file. Raises ConfigError."""
    return learn(
        Embedder(source.embedder),
        read(source.train, "exams.disclosure.train"),
        read(source.valid, "exams.disclosure.valid"),
    )


def learn(embed: Embed, train: Sequence[Labelled], valid: Sequence[Labelled]) -> TherapyLabeller:
    """Raises ConfigError where a validation turn is a training turn, or an act has fewer turns than FOLDS."""
    from evals.readers.labels.measure import score

    if shared := {one.text for one in train} & {one.text for one in valid}:
        raise ConfigError(f"exams.disclosure.valid: {len(shared)} of its turns are in the training file: take them out")
    counts: dict[str, int] = {}
    for one in train:
        for word in set(tokens(one.text)):
            counts[word] = counts.get(word, 0) + 1
    words = tuple(sorted(sorted(counts), key=lambda word: -counts[word])[:WORDS])
    table, unseen = (_table(embed, words, [one.text for one in part]) for part in (train, valid))
    names, models, scores = [str(i) for i in range(len(train) + len(valid))], {}, {}
    alone: list[tuple[bool, bool, str]] = []
    for act in ACTS:
        yes, other = truth(train, act), truth(valid, act)
        if min(sum(yes), len(yes) - sum(yes)) < FOLDS:
            raise ConfigError(f"exams.disclosure.train: {sum(yes)} of {len(yes)} turns are {act}; {FOLDS} are needed")
        model = LogisticRegression(class_weight="balanced", max_iter=2000)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        held_out = cross_val_predict(model, table, yes, cv=folds)
        models[act] = model.fit(table, yes)
        said = [*map(bool, held_out), *map(bool, models[act].predict(unseen))]
        scores[act] = score([*yes, *other], said, names)
        if scores[act].measured:
            alone += zip(other, said[len(yes) :], names[len(yes) :], strict=True)
    return TherapyLabeller(embed, words, models, scores, score(*zip(*alone, strict=True) if alone else ((), (), ())))


def truth(turns: Sequence[Labelled], act: str) -> list[bool]:
    return [bool(one.labels & set(ACTS[act])) for one in turns]


def _table(embed: Embed, words: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    return features(embed, words, True, [TurnInContext(text) for text in texts])

"""A classifier of turns that learned from labels of people: what it reads of a turn, and how it is kept.

A logistic regression for each class, on sentence-transformers embeddings of the turn and of the one before it, its
commonest words, and some plain counts. It is kept as JSON and arrays alone. `evals.readers.labels.learn_labels`
makes one:

    maieutic eval labels configs/labels.yaml     # writes runs/labels/classifier
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from zipfile import BadZipFile

import numpy as np

from pipeline.core.errors import ConfigError
from pipeline.core.files import write_whole, written_whole
from pipeline.reading.acts import acts
from pipeline.reading.embedder import INSTALLED, sentence_model
from pipeline.reading.labelling.context import TurnInContext

PROBE = "how many are there?"  # by its vector one knows an embedder again


class Embed(Protocol):
    """A vector for each text."""

    def __call__(self, texts: Sequence[str]) -> np.ndarray: ...


class Embedder:
    """Sentence embeddings of texts in small letters. A `cache` file keeps them, under a hash of the text; a damaged
    one, or another embedder's, is begun anew.

    `name` is a directory, a hub name, or `installed`. Raises ConfigError where it cannot be loaded.
    """

    def __init__(self, name: str, cache: Path | None = None) -> None:
        self._model = sentence_model(name, device="cpu")
        self._cache = cache
        self._known: dict[str, np.ndarray] = {}
        if cache and cache.exists():
            with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile), np.load(cache) as kept:
                if is_same(kept["probe"], self._encoded([PROBE])[0]):
                    self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        texts = [text.lower() for text in texts]
        keys = [hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16] for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._encoded(list(new.values())), strict=True))
            if self._cache:
                known = {"keys": np.array(list(self._known)), "vectors": np.stack(list(self._known.values()))}
                _write_arrays(self._cache, known | {"probe": self._encoded([PROBE])[0]})
        return np.stack([self._known[key] for key in keys]).astype(np.float32)

    def _encoded(self, texts: list[str]) -> np.ndarray:
        return self._model.encode(texts, batch_size=64, show_progress_bar=False).astype(np.float16)


def is_same(probe: np.ndarray, now: np.ndarray) -> bool:
    """Whether two vectors of PROBE are of one embedder."""
    return now.shape == probe.shape and np.allclose(now, probe, atol=0.02)


def _write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


class Linear(NamedTuple):
    """One class: yes where `features @ weights + bias > threshold`. `asking`: it reads how a question is put, too."""

    words: tuple[str, ...]
    asking: bool
    weights: np.ndarray
    bias: float
    threshold: float


class Classifier:
    """Whether turns are of a class, by class; `embedder` is the name that `load` opens again."""

    def __init__(self, embed: Embed, models: dict[str, Linear], embedder: str = INSTALLED) -> None:
        self._embed, self._models, self._embedder = embed, models, embedder

    @property
    def learned(self) -> list[str]:
        return list(self._models)

    def __call__(self, turns: Sequence[TurnInContext], name: str) -> list[bool]:
        if not turns:
            return []
        model = self._models[name]
        scores = features(self._embed, model.words, model.asking, turns) @ model.weights + model.bias
        return [bool(score > model.threshold) for score in scores]

    def save(self, folder: Path, about: str) -> None:
        """classifier.json and weights.npz; `about` says what it learned from."""
        classes = {
            name: {"words": model.words, "asking": model.asking, "bias": model.bias, "threshold": model.threshold}
            for name, model in self._models.items()
        }
        written = {"about": about, "embedder": self._embedder, "classes": classes}
        arrays = {name: model.weights for name, model in self._models.items()}
        _write_arrays(folder / "weights.npz", arrays | {"probe": self._embed([PROBE])[0]})
        write_whole(folder / "classifier.json", json.dumps(written, indent=1) + "\n")

    @classmethod
    def load(cls, folder: str | Path, embed: Embed | None = None) -> Classifier:
        """Raises ConfigError where the folder holds none, or its embedder is another one now."""
        path = Path(folder) / "classifier.json"
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
            with np.load(path.with_name("weights.npz"), allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
            models = {
                name: Linear(
                    tuple(fields["words"]), fields["asking"], arrays[name], fields["bias"], fields["threshold"]
                )
                for name, fields in written["classes"].items()
            }
            name, probe = written["embedder"], arrays["probe"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"acts.path: {str(folder)!r} holds no classifier ({error}). Expected the folder classifier/ that "
                "maieutic eval labels CONFIG writes: classifier.json and weights.npz"
            ) from None
        embed = embed or Embedder(name)
        now = embed([PROBE])[0]
        if not is_same(probe, now):
            raise ConfigError(
                f"acts.path: {str(folder)!r} learned with another embedder than {name!r} is now. Bring that one back, "
                "or make the classifier anew with maieutic eval labels CONFIG"
            )
        return cls(embed, models, name)


def features(embed: Embed, words: Sequence[str], asking: bool, turns: Sequence[TurnInContext]) -> np.ndarray:
    """What the classifier reads: (turns, features), float32."""
    place = {word: i for i, word in enumerate(words)}
    bag = np.zeros((len(turns), len(words)), dtype=np.float32)
    for i, turn in enumerate(turns):
        bag[i, [place[word] for word in set(tokens(turn.text)) if word in place]] = 0.5
    own = [_form(turn) + (_asking(turn) if asking else []) for turn in turns]
    parts = [embed([turn.text for turn in turns]), embed([turn.before for turn in turns]), bag, np.array(own)]
    return np.hstack(parts).astype(np.float32)


def commonest_words(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """The words and pairs of words that stand in the most texts, the commonest first, equal ones by alphabet."""
    counts = Counter(word for text in texts for word in set(tokens(text)))
    return tuple(sorted(sorted(counts), key=lambda word: -counts[word])[:most])


def tokens(text: str) -> list[str]:
    """Words and pairs of words, with the turn's beginning and end."""
    words = ["<", *re.findall(r"[\w']+|\?", text.lower()), ">"]
    return [*words, *map(" ".join, itertools.pairwise(words))]


def _form(turn: TurnInContext) -> list[float]:
    """Who spoke before and whether with a question, how long the turn is, how much of it repeats the one before."""
    words, before = (re.findall(r"[\w']+", text.lower()) for text in (turn.text, turn.before))
    repeated = sum(word in set(before) for word in words) / len(words) if words else 0.0
    own = 0.0 if turn.own is None else 1.0 if turn.own else -1.0
    return [own, float(turn.before.rstrip().endswith("?")), math.log1p(len(words)), repeated]


_WORD = re.compile(r"\b(?:what|who|where|when|why|which|how)\b")
_INVERTED = re.compile(
    r"\b(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|isn't|don't|didn't|doesn't|aren't"
    r"|wasn't|can't|won't|wouldn't|shouldn't|haven't) (?:i|you|we|they|he|she|it|this|that|these|those|there|the|my"
    r"|your|our|his|her|their|any\w*|a|an)\b"
)
_TAG = re.compile(r"\b(?:right|correct|okay|yeah|no|huh|eh|or|you know|\w+n't (?:it|he|she|they|we|you|i|that))\?$")


def _asking(turn: TurnInContext) -> list[float]:
    """How a question is put. A statement with a question mark mostly checks what the other party has said."""
    text = turn.text.lower().strip()
    word, inverted, tag = (bool(pattern.search(text)) for pattern in (_WORD, _INVERTED, _TAG))
    stated, short = not (word or inverted or tag), len(text.split()) <= 4
    marks = [word, inverted, tag, stated, stated and turn.own is False, stated and turn.own is True, word and short]
    marks += [stated and short, bool(re.search(r"\breally\?$|\bany(?:thing)?\b", text)), "repair" in acts(text, ())]
    return [float(mark) for mark in (*marks, stated and bool(re.match(r"(?:so|oh|you|the)\b", text)))]

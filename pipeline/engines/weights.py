"""Names of weights: where they lie, and what they are."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from pipeline.core.resources import shipped
from pipeline.core.schema import digest

EMBEDDED = "embedded"  # the base that ships, of 1.5 M parameters


def weights_at(model: str) -> str:
    """The directory, or the hub name, of a model as configs name it: `embedded` is the base that ships."""
    return str(shipped("data", "base")) if model == EMBEDDED else model


@lru_cache(maxsize=64)
def weights_id(model: str) -> str:
    """Names weights by what they are, not by where they lie: a hash of a directory's files, or the hub name."""
    kinds = ("*.safetensors", "config.json", "tokenizer.json", "chat_template.jinja")
    files = sorted(path for kind in kinds for path in Path(weights_at(model)).glob(kind)) if model else []
    if not files:
        return model
    return digest([[path.name, hashlib.sha256(path.read_bytes()).hexdigest()] for path in files])


def is_embedded_base(model: str) -> bool:
    """Whether `training.embedded.base` made it, so that it knows the words of the embedded world alone."""
    return Path(weights_at(model), "recipe.json").is_file()

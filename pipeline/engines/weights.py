"""Names of weights: where they lie, and what they are."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.files import file_hash
from pipeline.core.resources import shipped, user_cache
from pipeline.core.schema import digest

EMBEDDED = "embedded"  # the base that ships, of 1.5 M parameters
HIDDEN_ITEM = "embedded_hidden_item"  # a second one, of the words of hidden items
OTHER = "embedded_other"  # the first one's kind from other initial weights, which `maieutic base embedded_other` makes
SMOLLM2 = "smollm2"  # a pretrained model, which `maieutic base smollm2` makes (maieutic/smollm2.py)
IN_IDS = ("*.safetensors", "config.json", "tokenizer.json", "chat_template.jinja")
SHAPING = (*IN_IDS, "*.bin", "*.jinja", "*.model", "*config.json", "vocab*", "merges.txt", "special_tokens_map.json")
MADE = (OTHER, SMOLLM2)


def weights_at(model: str) -> str:
    """The directory, or the hub name, of a model as configs name it: the constants above are local bases."""
    local = {
        EMBEDDED: shipped("data", "base"),
        HIDDEN_ITEM: shipped("data", "hidden_item_base"),
        **{name: user_cache() / "bases" / name for name in MADE},
    }
    return str(local.get(model, model))


def not_made(model: str) -> str:
    """What to run where a model is a local base that is still to be made here; '' for every other model."""
    place = weights_at(model)
    name = next((name for name in MADE if weights_at(name) == place), "")
    if not name or Path(place).is_dir():
        return ""
    return f"the base {name!r} is not made here yet (it would be in {place}). Run: maieutic base {name}"


def weights_id(model: str) -> str:
    """Names weights by what they are, not by where they lie: a hash of a directory's files, or the hub name."""
    return _id_of(model, IN_IDS)


def directory_id(model: str) -> str:
    """As `weights_id`, of all that shapes what a model says: what ends a turn, and how chats are rendered, too.

    No part of ids, which are as they were.
    """
    return _id_of(model, SHAPING)


def _id_of(model: str, kinds: tuple[str, ...]) -> str:
    files = sorted({path for kind in kinds for path in Path(weights_at(model)).glob(kind)}) if model else []
    return digest([[path.name, file_hash(path)] for path in files]) if files else model


def is_embedded_base(model: str) -> bool:
    """Whether `training.embedded` made it, so that it knows the words of its own embedded world alone."""
    return Path(weights_at(model), "recipe.json").is_file()

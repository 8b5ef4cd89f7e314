"""A config as it may be passed on: without where files lie, or which server was asked, which is nobody's business."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from pipeline.core.plugins import is_address
from pipeline.experiment.experiment import Experiment


def without_place(name: str) -> str:
    """The last part of a path, of a file of one's own (file.py:NAME) too; every other name, a hub's too, as it is."""
    is_path = name.startswith(("/", "~", "./", "../")) or is_address(name) or ("/" in name and Path(name).exists())
    return Path(name).name if is_path else name


def without_places(experiment: Experiment) -> str:
    """The config as YAML, paths by their last part alone, and without run directory and addresses of servers."""
    return yaml.safe_dump(
        _without_places({**experiment.model_dump(mode="json"), "out": ""}), sort_keys=False, allow_unicode=True
    )


def _without_places(value: Any, key: str = "") -> Any:
    match value:
        case dict():
            return {each: _without_places(item, each) for each, item in value.items()}
        case list():
            return [_without_places(item) for item in value]
        case str():
            return "" if key == "url" else without_place(value)
    return value

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
    config = {**experiment.model_dump(mode="json"), "out": ""}
    return yaml.safe_dump(values_without_places(config), sort_keys=False, allow_unicode=True)


def values_without_places(value: Any, key: str = "") -> Any:
    """The same of a record that was read of JSON."""
    match value:
        case dict():
            bare: dict[str, Any] = {}
            for each, item in value.items():
                name = without_place(str(each))
                same = sum(without_place(str(other)) == name for other in value)
                bare[f"{name} {len(bare) + 1}" if same > 1 else name] = values_without_places(item, each)
            return bare
        case list():
            return [values_without_places(item) for item in value]
        case str():
            return "" if key == "url" else without_place(value)
    return value

"""Files that others publish, read as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.core.errors import ConfigError
from pipeline.tasks.parsing import read_text


def read_json(path: Path) -> Any:
    """What a JSON file of MAIEUTIC_DATA holds. Raises ConfigError."""
    try:
        return json.loads(read_text(path, "MAIEUTIC_DATA"))
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}. Use the file as it is published.") from None

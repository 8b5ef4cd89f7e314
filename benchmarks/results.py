"""benchmarks/results.json: what the benchmarks found when they were run last, on which machine."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

PATH = Path(__file__).parent / "results.json"


def record(name: str, figures: dict[str, dict[str, float]]) -> None:
    """Replace one benchmark's figures."""
    everything = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    everything[name] = {"on": machine, "found": figures}
    PATH.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", encoding="utf-8")

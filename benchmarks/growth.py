"""How do time and memory of a build grow with the number of dialogues?

The scripted model answers at once, so what is measured is everything else: tasks, views, rules, storage,
selection and export. Each size is a process of its own.

    python -m benchmarks.growth
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from pipeline.experiment.experiment import Experiment, dump

SIZES = (1_000, 10_000, 100_000)


def measure(size: int) -> dict[str, float]:
    """Seconds, and the greatest resident memory of the process in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment.model_validate({
            "name": "growth", "out": f"{folder}/run", "seeds": [1], "engine": {"kind": "scripted"},
            "tasks": {"train": {"underspecified": size}, "exam": {}},
            "conditions": {"facts": {"partition": "facts", "selection": "none"}},
        })  # fmt: skip
        config = Path(folder, "growth.yaml")
        config.write_text(dump(experiment), encoding="utf-8")
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "maieutic", "build", str(config)], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"the build of {size} dialogues failed")
    return {
        "wall_s": round(wall, 1),
        "ms_per_dialogue": round(1000 * wall / size, 3),
        "peak_mib": usage.ru_maxrss // 1024,
    }


def main() -> None:
    figures = {str(size): measure(size) for size in SIZES}
    table = Table("dialogues", "took, s", "ms per dialogue", "peak memory, MiB")
    for size, row in figures.items():
        table.add_row(size, *(str(value) for value in row.values()))
    Console().print(table)
    record("growth", figures)


if __name__ == "__main__":
    main()

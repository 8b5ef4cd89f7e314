"""How much of the cores' time does `maieutic run` use?

Four tenths of the quickstart's training problems, a third of its exam's and half of its steps, both conditions and all
seeds: dialogues, students, exams and report.

    python -m benchmarks.utilisation
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

ROOT = Path(__file__).parent.parent
SMALLER = (
    "tasks.train={full: 50, underspecified: 200}", "tasks.exam={full: 17, underspecified: 23}", "training.steps=24",
)  # fmt: skip


def run(out: Path, threads: int) -> dict[str, float]:
    """Seconds by the clock, and the share of the cores' time that the processor worked for it."""
    command = [sys.executable, "-m", "maieutic", "run", "configs/quickstart.yaml", "--set", f"out={out}"]
    for change in SMALLER:
        command += ["--set", change]
    began, before = time.perf_counter(), os.times()
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": str(threads)}, capture_output=True, text=True
    )
    clock, after = time.perf_counter() - began, os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"clock_s": round(clock, 1), "cpu_s": round(used, 1), "utilisation": round(used / clock / threads, 3)}


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        found = {f"{cores} cores": run(Path(folder, "run"), cores)}
    table = Table("", *next(iter(found.values())))
    for name, row in found.items():
        table.add_row(name, *map(str, row.values()))
    Console().print(table)
    record("utilisation", found)


if __name__ == "__main__":
    main()

"""How do time and memory of each stage grow with the number of dialogues?

The scripted model answers at once, so what is measured is everything else: tasks, views, rules, storage, selection,
export, comparison, the audit. Every dialogue is kept. Each stage of each size is a process of its own; building and
resuming select as well. `x linear` is the time beside that of the smallest size times the dialogues; a process's start
makes it less than 1.

    python -m benchmarks.growth                            # half an hour on two free cores, the audit most of it
    python -m benchmarks.growth --sizes 1000,1000000       # a million; most of a day on two cores
"""

from __future__ import annotations

import argparse
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
STAGES = {
    "build": ("build", "{config}"),
    "resume": ("build", "{config}"),
    "export": ("export", "{config}", "prompt_completion"),
    "compare": ("compare", "{run}"),
    "audit": ("audit", "{run}"),
}


def measure(size: int) -> dict[str, dict[str, float]]:
    """Of each stage seconds by the clock and of the CPU, and the greatest resident memory of its process in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment.model_validate({
            "name": "growth", "out": f"{folder}/run", "seeds": [1], "engine": {"kind": "scripted"},
            "tasks": {"train": {"full": size // 2, "underspecified": size - size // 2}, "exam": {}},
            "conditions": {"facts": {"partition": "facts", "selection": "none"}},
        })  # fmt: skip
        config = Path(folder, "growth.yaml")
        config.write_text(dump(experiment), encoding="utf-8")
        return {
            stage: _run(stage, size, [part.format(config=config, run=experiment.run) for part in command])
            for stage, command in STAGES.items()
        }


def _run(stage: str, size: int, command: list[str]) -> dict[str, float]:
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "maieutic", *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"{stage} of {size} dialogues: `maieutic {' '.join(command)}` failed with status {status}")
    return {
        "wall_s": round(wall, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "ms_per_dialogue": round(1000 * wall / size, 3),
        "peak_mib": usage.ru_maxrss // 1024,
    }


def show(figures: dict[int, dict[str, dict[str, float]]]) -> None:
    """A row for each stage and size, beside what linear growth from the smallest size gives."""
    smallest = min(figures)
    table = Table("stage", "dialogues", "took, s", "CPU, s", "x linear", "peak, MiB", "more, KB a dialogue")
    for stage in STAGES:
        least = figures[smallest][stage]
        for size, stages in sorted(figures.items()):
            row = stages[stage]
            more = size - smallest
            held = f"{1048.576 * (row['peak_mib'] - least['peak_mib']) / more:.2f}" if more else "–"
            linear = f"{row['wall_s'] / (least['wall_s'] * size / smallest):.2f}"
            figure = (f"{row['wall_s']:g}", f"{row['cpu_s']:g}", linear, f"{row['peak_mib']:g}", held)
            table.add_row(stage, f"{size:,}", *figure)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of each stage by the number of dialogues.")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of dialogues, such as 1000,10000")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    figures = {size: measure(size) for size in sizes}
    show(figures)
    record("growth", {f"{stage} {size}": row for size, stages in figures.items() for stage, row in stages.items()})


if __name__ == "__main__":
    main()

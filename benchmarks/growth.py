"""How do time and memory of each stage grow with the number of dialogues?

The scripted model answers at once, so what is measured is everything else: tasks, views, rules, storage, selection,
export, comparison, the audit. Every dialogue is kept. Each stage of each size is a process of its own. Building selects
as well; resuming goes past what is there and selects again, as after a kill. `x linear` is the time beside that of the
smallest size times the dialogues; a process's start makes it less than 1.

    python -m benchmarks.growth                                     # the audit takes most of it
    python -m benchmarks.growth --sizes 1000,1000000 --stages build,resume,export,compare
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from pipeline.experiment.experiment import Experiment, dump
from pipeline.runs.finished import finished_path

SIZES = (1_000, 10_000)
STAGES = {
    "build": ("build", "{config}"),
    "resume": ("build", "{config}"),
    "export": ("export", "{config}", "prompt_completion"),
    "compare": ("compare", "{run}"),
    "audit": ("audit", "{run}"),
}
Figures = dict[str, dict[str, float]]  # by stage


def measure(size: int, stages: Sequence[str], ended: Callable[[Figures], None]) -> Figures:
    """Of each stage seconds by the clock and of the CPU, and the greatest resident memory of its process in MiB.
    `ended` is told what there is after each of them: a run that is cut short keeps its figures."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment.model_validate({
            "name": "growth", "out": f"{folder}/run", "seeds": [1], "engine": {"kind": "scripted"},
            "tasks": {"train": {"full": size // 2, "underspecified": size - size // 2}, "exam": {}},
            "conditions": {"facts": {"partition": "facts", "selection": "none"}},
        })  # fmt: skip
        config, figures = Path(folder, "growth.yaml"), Figures()
        config.write_text(dump(experiment), encoding="utf-8")
        for stage in stages:
            if stage == "resume":  # a build that ended has noted that there is nothing to go through
                finished_path(experiment.run).unlink()
            command = [part.format(config=config, run=experiment.run) for part in STAGES[stage]]
            figures[stage] = _run(stage, size, command)
            ended(figures)
        return figures


def _run(stage: str, size: int, command: list[str]) -> dict[str, float]:
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "maieutic", *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    # A check failed, and all were made; who crashes ends with 1 as well, and writes no report.
    found_something = stage == "audit" and os.waitstatus_to_exitcode(status) == 1 and audit_path(command[-1]).is_file()
    if status and not found_something:
        raise SystemExit(f"{stage} of {size} dialogues: `maieutic {' '.join(command)}` failed with status {status}")
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{stage} of {size:,}: {wall:.1f} s, {cpu:.1f} s of CPU, {usage.ru_maxrss // 1024} MiB", flush=True)
    return {
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "ms_per_dialogue": round(1000 * wall / size, 3),
        "peak_mib": usage.ru_maxrss // 1024,
    }


def audit_path(run: str) -> Path:
    return Path(run, "audit", "audit.json")


def show(found: dict[int, Figures]) -> None:
    """A row for each stage and size, beside what linear growth from the smallest size gives."""
    smallest = min(found)
    table = Table("stage", "dialogues", "took, s", "CPU, s", "x linear", "peak, MiB", "more, KB a dialogue")
    for stage, least in found[smallest].items():
        for size, figures in sorted(found.items()):
            row, more = figures[stage], size - smallest
            held = f"{1048.576 * (row['peak_mib'] - least['peak_mib']) / more:.2f}" if more else "–"
            linear = f"{row['wall_s'] / (least['wall_s'] * size / smallest):.2f}"
            figure = (f"{row['wall_s']:g}", f"{row['cpu_s']:g}", linear, f"{row['peak_mib']:g}", held)
            table.add_row(stage, f"{size:,}", *figure)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of each stage by the number of dialogues.")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of dialogues, such as 1000,10000")
    parser.add_argument("--stages", default=",".join(STAGES), help="in this order, `build` first")
    asked = parser.parse_args()
    stages = asked.stages.split(",")
    if stages[0] != "build" or not set(stages) <= set(STAGES):
        parser.error(f"--stages: {asked.stages!r}: expected `build` and then any of {', '.join(list(STAGES)[1:])}")
    rows, found = dict[str, dict[str, float]](), dict[int, Figures]()
    for size in map(int, asked.sizes.split(",")):

        def ended(figures: Figures, size: int = size) -> None:
            rows.update({f"{stage} {size}": row for stage, row in figures.items()})
            record("growth", rows)

        found[size] = measure(size, stages, ended)
    show(found)


if __name__ == "__main__":
    main()

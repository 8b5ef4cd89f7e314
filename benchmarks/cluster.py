"""What does Ray cost? Dialogues a second with one worker and with two, beside a build without it, and a worker's start.

The scripted model answers at once, so that workers do nothing but their own work, a core each. A build of FEW and one
of MANY dialogues give the seconds of one more dialogue, and what a build of none would take: Ray, the start of its
workers and its end. Efficiency is what W workers do in an hour, beside W times what a build without Ray does in it;
shards are taken into the run in that time as well. Ray must be installed, which the extra `ray` does.

    python -m benchmarks.cluster
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from pipeline.building.event_loop import run
from pipeline.building.rounds import build_round
from pipeline.experiment.experiment import Experiment
from pipeline.runs.directory import claim
from pipeline.runs.lock import writing

FEW, MANY, ROUNDS = 500, 4_500, 2
WORKERS = (0, 1, 2)  # 0: without Ray


def build(workers: int, dialogues: int) -> float:
    """Seconds by the clock, without imports, of one build."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment.model_validate({
            "name": "cluster", "out": folder, "seeds": [1], "engine": {"kind": "scripted"},
            "executor": "ray" if workers else "local", "workers": workers,
            "tasks": {"train": {"full": dialogues // 2, "underspecified": dialogues // 2}, "exam": {}},
            "conditions": {"facts": {"partition": "facts"}},
        })  # fmt: skip
        if workers:
            from pipeline.building.cluster import build_round as build_on_ray
        began = time.perf_counter()
        with writing(experiment.run):
            claim(experiment)
            if workers:
                build_on_ray(experiment, ["facts"], 0)
            else:
                run(build_round(experiment, ["facts"], 0))
        return time.perf_counter() - began


def timed(workers: int, dialogues: int) -> float:
    """As `build`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.cluster", str(workers), str(dialogues)]
    # At Ray's own niceness of 15 its workers starve beside anything else.
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"RAY_worker_niceness": "0"})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    rounds = [{(w, n): timed(w, n) for n in (FEW, MANY) for w in WORKERS} for _ in range(ROUNDS)]
    took = {key: median(each[key] for each in rounds) for key in rounds[0]}
    each = {w: (took[w, MANY] - took[w, FEW]) / (MANY - FEW) for w in WORKERS}
    figures = {
        f"{w} workers" if w else "without Ray": {
            "dialogues_per_s": round(1 / each[w]),
            "efficiency": round(each[0] / each[w] / max(w, 1), 3),
            "start_s": round(took[w, FEW] - each[w] * FEW, 1),
        }
        for w in WORKERS
    }
    table = Table("", *figures["without Ray"])
    for name, row in figures.items():
        table.add_row(name, *map(str, row.values()))
    Console().print(table)
    record("cluster", figures)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        print(build(int(sys.argv[1]), int(sys.argv[2])))

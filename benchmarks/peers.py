"""Is a build faster than the same dialogues by other means?

T student turns by request, the partner's lines between them by rule, C dialogues at a time, some times C in all: the
same number of requests in the same order to the same server, by a build of this project, a plain loop over the
OpenAI SDK, a solver in inspect_ai and an environment in verifiers. Every run is a process of its own whose clock
runs from the first dialogue to the last, without imports; the systems take turns. The peers' partner draws a line at
random, where a build works out which line is due, and only inspect_ai and a build store the dialogues. Printed: the
fastest of some runs, and how many times as long as a build each takes. The peers live in an environment of their
own, .venv-peers.

    make bench
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from benchmarks.server import serving
from benchmarks.server_limit import TURNS, experiment
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.knowledge.view import view
from pipeline.tasks.loading import load_tasks

LATENCIES = {64: 0.2, 256: 0.5, 1024: 1.0}  # dialogues at a time: seconds that the server takes
WAVES = {64: 4, 256: 4, 1024: 1}  # times C, the dialogues of a run
ROUNDS = {64: 2, 256: 1, 1024: 1}  # one of the longest takes all systems two minutes
ROOT = Path(__file__).parent.parent
PEERS = str(ROOT / ".venv-peers/bin/python")
SYSTEMS = {
    "ours": (sys.executable, "ours.py"),
    "openai": (PEERS, "openai_loop.py"),
    "inspect_ai": (PEERS, "inspect_solver.py"),
    "verifiers": (PEERS, "verifiers_env.py"),
}


def run(system: str, url: str, concurrency: int, job: str) -> dict[str, float]:
    """One run of one system, in a process of its own."""
    python, script = SYSTEMS[system]
    process = subprocess.run(
        [python, str(ROOT / "benchmarks/peers" / script), url, str(concurrency)],
        input=job, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    if process.returncode:
        raise SystemExit(f"{system} failed:\n{process.stderr}")
    figures: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return figures


def measure(concurrency: int, latency: float) -> dict[str, dict[str, float]]:
    """The fastest of every system's runs: what else the machine does can only add to them."""
    setting = experiment("", WAVES[concurrency] * concurrency, concurrency)
    tasks, _ = load_tasks(setting.tasks, "train")
    openings = [view(task, setting.conditions["facts"], [], "student")[0]["content"] for task in tasks]
    job = json.dumps({"openings": openings, "lines": WORDINGS["train"]["unknown"]})
    with serving(latency) as url:
        turns = range(ROUNDS[concurrency])
        rounds = [{system: run(system, url, concurrency, job) for system in SYSTEMS} for _ in turns]
    limit = len(openings) * TURNS * latency / concurrency
    best = {system: min((each[system] for each in rounds), key=lambda row: row["wall_s"]) for system in SYSTEMS}
    figures = {}
    for system, row in best.items():
        wall, cpu = row["wall_s"], row["cpu_ms_per_turn"]
        figures[system] = {"limit_s": limit, "wall_s": wall, "share": round(limit / wall, 3), "cpu_ms_per_turn": cpu,
                           "times_ours": round(wall / best["ours"]["wall_s"], 2),
                           "cpu_times_ours": round(cpu / best["ours"]["cpu_ms_per_turn"], 2)}  # fmt: skip
    return figures


def main() -> None:
    if not Path(PEERS).exists():
        raise SystemExit("The peers are not installed: `make bench` does that, and runs this.")
    figures = {}
    table = Table("concurrency", "system", "limit, s", "took, s", "share of the limit", "client CPU per turn, ms",
                  "times ours", "CPU, times ours")  # fmt: skip
    for concurrency, latency in LATENCIES.items():
        for system, row in measure(concurrency, latency).items():
            figures[f"{concurrency} {system}"] = row
            table.add_row(str(concurrency), system, *(str(value) for value in row.values()))
        record("peers", figures)  # what is measured stays if the next is cut short
    Console().print(table)


if __name__ == "__main__":
    main()

"""How near does a build come to what its server allows?

N dialogues of T student turns, C at a time, against a server that takes 1 s an answer, cannot end before
N * T / C seconds. The server is a process of its own. Printed: the share of that limit that was reached, and
the CPU time of this process per turn, each the median of ROUNDS builds, and the least share. What is measured is
the whole of `build`: views, rules, storage.

    python -m benchmarks.server_limit
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from benchmarks.server import serving
from pipeline.building.build import build
from pipeline.dialogue.episode import Cast
from pipeline.engines.openai import OpenAIModel
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.loading import load_tasks

LATENCY, TURNS, WAVES, ROUNDS = 1.0, 4, 4, 3


def experiment(out: str, dialogues: int, concurrency: int) -> Experiment:
    """Dialogues of TURNS student turns, and a rule partner between them that asks no server."""
    return Experiment.model_validate({
        "name": "limit", "out": out, "seeds": [1],
        "dialogue": {"turns": TURNS, "concurrency": concurrency},
        "tasks": {"train": {"underspecified": dialogues}, "exam": {}},
        "conditions": {"facts": {"partition": "facts"}},
    })  # fmt: skip


def measure(url: str, concurrency: int) -> dict[str, float]:
    """One build of WAVES * concurrency dialogues."""
    with tempfile.TemporaryDirectory() as folder:
        setting = experiment(folder, WAVES * concurrency, concurrency)
        tasks, _ = load_tasks(setting.tasks, "train")
        model = OpenAIModel(Engine(kind="openai", url=url), "any")
        began, cpu = time.perf_counter(), time.process_time()
        counts = asyncio.run(build(Cell(setting, "facts", 1), tasks, [], Cast(model), lambda: None))
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    if counts.made != len(tasks):
        raise SystemExit(f"{counts.failed} of {len(tasks)} dialogues failed at concurrency {concurrency}")
    limit = len(tasks) * TURNS * LATENCY / concurrency
    return {
        "dialogues": counts.made,
        "limit_s": limit,
        "wall_s": wall,
        "share": limit / wall,
        "cpu_ms_per_turn": 1000 * cpu / (counts.made * TURNS),
    }


def main() -> None:
    with serving(LATENCY) as url:
        runs = {concurrency: [measure(url, concurrency) for _ in range(ROUNDS)] for concurrency in (64, 256, 1024)}
    figures = {
        str(concurrency): {key: round(median(run[key] for run in some), 3) for key in some[0]}
        | {"least_share": round(min(run["share"] for run in some), 3)}
        for concurrency, some in runs.items()
    }
    table = Table("concurrency", "dialogues", "limit, s", "took, s", "share", "client CPU, ms a turn", "least share")
    for concurrency, row in figures.items():
        table.add_row(concurrency, *(f"{value:g}" for value in row.values()))
    Console().print(table)
    record("limit", figures)


if __name__ == "__main__":
    main()

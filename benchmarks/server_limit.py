"""How near does a build come to what its server allows?

N dialogues of T student turns, C at a time, against a server that takes 1 s an answer, cannot end before
N * T / C seconds. The server is a process of its own. Printed: the share of that limit that was reached, and
the CPU time of this process per turn, each the median of ROUNDS builds, and the least share. What is measured is
the whole of `build`: views, rules, storage, in the event loop that builds run in (uvloop's). Readings are remembered by
text, so it is measured where each turn is one of five questions, and where hardly two are alike (`unlike`).

Before each build a bare loop over aiohttp, in asyncio's own event loop, asks the same server as many times, with chats
as long, and does nothing else: what HTTP usually costs on this machine in this hour.

    python -m benchmarks.server_limit
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from statistics import median

import aiohttp
from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from benchmarks.server import serving
from pipeline.building.build import build
from pipeline.building.event_loop import run
from pipeline.dialogue.episode import Cast
from pipeline.engines.openai import OpenAIModel
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.tasks.loading import load_tasks

LATENCY, TURNS, WAVES = 1.0, 4, 4
ROUNDS = {"": 3, " unlike": 2}
CONCURRENCY = (64, 256, 1024)


def experiment(out: str, dialogues: int, concurrency: int) -> Experiment:
    """Dialogues of TURNS student turns, and a rule partner between them that asks no server."""
    return Experiment.model_validate({
        "name": "limit", "out": out, "seeds": [1],
        "dialogue": {"turns": TURNS, "concurrency": concurrency},
        "tasks": {"train": {"underspecified": dialogues}, "exam": {}},
        "conditions": {"facts": {"partition": "facts"}},
    })  # fmt: skip


async def bare(url: str, openings: list[str], concurrency: int) -> None:
    """The requests of as many dialogues, and nothing between them."""
    waiting = iter(openings)

    async def play(session: aiohttp.ClientSession) -> None:
        for opening in waiting:
            messages = [{"role": "user", "content": opening}]
            for i in range(TURNS):
                body = {"model": "any", "messages": messages, "max_tokens": 48, "temperature": 1.0, "seed": i}
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    messages.append((await response.json())["choices"][0]["message"])
                messages.append({"role": "user", "content": "I do not know that."})

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session, asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(play(session))


def measure_bare(url: str, concurrency: int) -> dict[str, float]:
    """One bare loop of WAVES * concurrency dialogues."""
    setting = experiment("", WAVES * concurrency, concurrency)
    tasks, _ = load_tasks(setting.tasks, "train")
    openings = [view(task, setting.conditions["facts"], [], "student")[0]["content"] for task in tasks]
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(bare(url, openings, concurrency))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    turns = len(openings) * TURNS
    return {"bare_share": turns * LATENCY / concurrency / wall, "bare_cpu_ms_per_turn": 1000 * cpu / turns}


def measure(url: str, concurrency: int) -> dict[str, float]:
    """One build of WAVES * concurrency dialogues, and a bare loop before it."""
    without = measure_bare(url, concurrency)
    with tempfile.TemporaryDirectory() as folder:
        setting = experiment(folder, WAVES * concurrency, concurrency)
        tasks, _ = load_tasks(setting.tasks, "train")
        model = OpenAIModel(Engine(kind="openai", url=url), "any")
        gc.collect()
        began, cpu = time.perf_counter(), time.process_time()
        counts = run(build(Cell(setting, "facts", 1), tasks, [], Cast(model), lambda: None))
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    if counts.made != len(tasks):
        raise SystemExit(f"{counts.failed} of {len(tasks)} dialogues failed at concurrency {concurrency}")
    limit = len(tasks) * TURNS * LATENCY / concurrency
    return {
        "dialogues": counts.made,
        "limit_s": limit,
        "wall_s": wall,
        "share": limit / wall,
        "cpu_ms_per_turn": (each := 1000 * cpu / (counts.made * TURNS)),
        **without,
        "cpu_times_bare": each / without["bare_cpu_ms_per_turn"],
    }


def main() -> None:
    runs = dict[str, list[dict[str, float]]]()
    for texts, rounds in ROUNDS.items():
        with serving(LATENCY, unlike=bool(texts)) as url:
            runs |= {f"{n}{texts}": [measure(url, n) for _ in range(rounds)] for n in CONCURRENCY}
    figures = {
        name: {key: round(median(run[key] for run in some), 3) for key in some[0]}
        | {"least_share": round(min(run["share"] for run in some), 3)}
        for name, some in runs.items()
    }
    table = Table(
        "concurrency, texts", "dialogues", "limit, s", "took, s", "share", "client CPU, ms a turn",
        "share of a bare loop", "its CPU", "times its CPU", "least share",
    )  # fmt: skip
    for concurrency, row in figures.items():
        table.add_row(concurrency, *(f"{value:g}" for value in row.values()))
    Console().print(table)
    record("limit", figures)


if __name__ == "__main__":
    main()

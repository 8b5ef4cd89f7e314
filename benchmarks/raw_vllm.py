"""How near do dialogues come to what vLLM itself does with the same prompts and lengths in one flat batch?

A build on vLLM in process, both parties by the embedded base, WAVES waves of C dialogues; then vLLM's own offline
`LLM.generate` on the very prompts that the build asked, each held to the length that it was answered with. The build
has to wait for every turn before it can ask for the next, and makes views, tokens and files beside; the batch
knows all prompts at once. Each is a process of its own whose clock starts when the engine has answered once. The two
take turns, ROUNDS times. Printed: generated tokens per second, the medians' ratio, and the prefix cache's hit rates.

    make bench
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from pipeline.building.build import build
from pipeline.core.schema import Message
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import encode, load_tokenizer
from pipeline.engines.weights import weights_at
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.loading import load_tasks

MODEL, CONCURRENCY, WAVES, TURNS, ROUNDS = "embedded", 256, 4, 4, 1
ROOT = Path(__file__).parent.parent
PYTHON = str(ROOT / ".venv-vllm/bin/python")


class Recorder:
    """vLLM in process, and what it was asked."""

    def __init__(self) -> None:
        self.model = open_model(Engine(kind="vllm"), MODEL)
        self.asked: list[tuple[list[Message], Completion]] = []

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        completion = await self.model.complete(messages, sampling)
        self.asked.append((messages, completion))
        return completion

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)


async def dialogues(job: Path) -> dict[str, float]:
    """A build; what it asked is left in `job`."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment.model_validate({
            "name": "raw", "out": folder, "seeds": [1], "student": {"model": MODEL}, "engine": {"kind": "vllm"},
            "dialogue": {"turns": TURNS, "concurrency": CONCURRENCY, "max_tokens": 64},
            "tasks": {"train": {"underspecified": WAVES * CONCURRENCY}, "exam": {}},
            "conditions": {"symmetric": {"partition": "symmetric", "voice": "model"}},
        })  # fmt: skip
        tasks, _ = load_tasks(experiment.tasks, "train")
        model = Recorder()
        await model.complete([{"role": "user", "content": "Hello."}], Sampling(8))
        model.asked.clear()
        began = time.perf_counter()
        counts = await build(Cell(experiment, "symmetric", 1), tasks, [], Cast(model, model), lambda: None)
        wall = time.perf_counter() - began
    if counts.failed:
        raise SystemExit(f"{counts.failed} of {len(tasks)} dialogues failed")
    tokenizer = load_tokenizer(MODEL)
    job.write_text(json.dumps([[encode(tokenizer, messages), reply.tokens] for messages, reply in model.asked]))
    prompts = sum(reply.prompt_tokens for _, reply in model.asked)
    cached = sum(reply.cached_tokens or 0 for _, reply in model.asked)
    return {"requests": len(model.asked), "tokens": sum(reply.tokens for _, reply in model.asked), "wall_s": wall,
            "hit_rate": cached / prompts}  # fmt: skip


def batch(job: Path) -> dict[str, float]:
    """The same requests in one call of vLLM's offline engine, with the settings that ours has."""
    from vllm import LLM, SamplingParams

    from pipeline.engines.vllm import arguments

    asked = json.loads(job.read_text())
    model: Any = LLM(model=weights_at(MODEL), **arguments(Engine(kind="vllm"), 4096))
    model.generate([{"prompt_token_ids": asked[0][0]}], SamplingParams(max_tokens=8), use_tqdm=False)
    params = [
        SamplingParams(temperature=1.0, seed=i, max_tokens=n, min_tokens=n, ignore_eos=True, detokenize=False)
        for i, (_, n) in enumerate(asked)
    ]
    began = time.perf_counter()
    outputs = model.generate([{"prompt_token_ids": ids} for ids, _ in asked], params, use_tqdm=False)
    wall = time.perf_counter() - began
    cached = sum(output.num_cached_tokens for output in outputs) / sum(len(ids) for ids, _ in asked)
    tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
    return {"requests": len(outputs), "tokens": tokens, "wall_s": wall, "hit_rate": cached}


def run(which: str, job: Path) -> dict[str, float]:
    command = [PYTHON, "-m", "benchmarks.raw_vllm", which, str(job)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{which} failed:\n{done.stderr[-3000:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]  # vLLM prints beside it
    figures: dict[str, float] = json.loads(lines[-1])
    return figures


def main() -> None:
    if not Path(PYTHON).exists():
        raise SystemExit("vLLM is not installed: `make bench` does that, and runs this.")
    rounds: dict[str, list[dict[str, float]]] = {"dialogues": [], "batch": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for which, rows in rounds.items():
                rows.append(run(which, Path(folder, "job.json")))
    if [row["tokens"] for row in rounds["dialogues"]] != [row["tokens"] for row in rounds["batch"]]:
        raise SystemExit("the batch did not make as many tokens as the dialogues")
    table = Table("", "requests", "tokens", "took, s", "tokens per second", "hit rate", "share of the batch")
    figures = {}
    for which, rows in rounds.items():
        speed = median(row["tokens"] / row["wall_s"] for row in rows)
        fast = median(row["tokens"] / row["wall_s"] for row in rounds["batch"])
        figures[which] = {
            "requests": median(row["requests"] for row in rows), "tokens": median(row["tokens"] for row in rows),
            "wall_s": round(median(row["wall_s"] for row in rows), 2), "tokens_per_s": round(speed),
            "hit_rate": round(median(row["hit_rate"] for row in rows), 3), "share": round(speed / fast, 3),
        }  # fmt: skip
        table.add_row(which, *(str(value) for value in figures[which].values()))
    Console().print(table)
    record("raw_vllm", figures)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        which, job = sys.argv[1], Path(sys.argv[2])
        print(json.dumps(asyncio.run(dialogues(job)) if which == "dialogues" else batch(job)))

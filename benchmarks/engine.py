"""How fast is the transformers engine, beside the products of matrices that it cannot do without, and beside vLLM?

One batch of prompts of random tokens, all equally long, each answered with equally many, on one core. Prefill is the
batch with one token an answer, decode what the other tokens take. The limit is the same core doing nothing but the
products with the model's weights, of the same shapes and type: `products`; for decode also with attention's two for
each layer: `with attention`. vLLM's CPU build answers as many prompts at once, in float32, with our settings. All are
processes of their own that take turns. Ratios are of the seconds of the processor within a round, the median over
rounds; with one thread these are the seconds by the clock of an idle machine.

    python -m benchmarks.engine             # SmolLM2 where `maieutic base smollm2` made it, vLLM where it is installed
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.results import record
from pipeline.engines.dtype import bfloat16_gain
from pipeline.engines.model import Sampling
from pipeline.engines.settings import Engine
from pipeline.engines.weights import not_made, weights_at

CONTEXT = 2048
ROOT = Path(__file__).parent.parent
PYTHONS = {"ours": sys.executable, "vllm": str(ROOT / ".venv-vllm/bin/python")}
Seconds = dict[str, float]


class Case(NamedTuple):
    """A batch of prompts of `length` tokens, answered with `new`, measured `rounds` times."""

    name: str
    batch: int
    length: int
    new: int
    rounds: int


CASES = (
    Case("embedded", 16, 64, 33, 3),
    Case("embedded", 64, 64, 33, 3),
    Case("embedded", 256, 64, 33, 3),
    Case("smollm2", 64, 32, 9, 1),  # it takes a core most of a minute
)


def seconds(work: Callable[[], Any]) -> float:
    """Of the processor. All of it is in this process, in one thread at a time."""
    began = time.process_time()
    work()
    return time.process_time() - began


class Prompts:
    """Never the same twice: what was read before is remembered, by vLLM and by us."""

    def __init__(self, case: Case, vocabulary: int):
        self.shape, self.vocabulary, self.random = (
            (case.batch, case.length),
            vocabulary,
            torch.Generator().manual_seed(0),
        )

    def __call__(self) -> list[list[int]]:
        ids: list[list[int]] = torch.randint(5, self.vocabulary, self.shape, generator=self.random).tolist()
        return ids


def ours(case: Case) -> Callable[[], Seconds]:
    from pipeline.engines.transformers import load

    engine = load(Engine(kind="transformers", batch=case.batch), case.name)
    engine.ends = engine.memory.ends = {-1}  # so that all answers are equally long
    prompts = Prompts(case, len(engine.tokenizer))

    async def answer(new: int) -> None:
        asks = (engine.complete_ids(ids, Sampling(new, 0.7, seed=i)) for i, ids in enumerate(prompts()))
        await asyncio.gather(*asks)

    def measure() -> Seconds:
        prefill = seconds(lambda: asyncio.run(answer(1)))
        whole = seconds(lambda: asyncio.run(answer(case.new)))
        with torch.inference_mode():
            return {"prefill": prefill, "decode": whole - prefill} | limits(engine.model, case)

    return measure


def limits(model: Any, case: Case) -> Seconds:
    """Of the products alone; what they multiply is there already."""
    from pipeline.engines.decoding.decode import PART

    config, dtype, (_, batch, length, new, _) = model.config, model.dtype, case
    *layers, head = [each.weight for each in model.modules() if isinstance(each, torch.nn.Linear)]
    rows = {(n, weight.shape[1]): torch.randn(n, weight.shape[1]).to(dtype)
            for n in (batch, PART, batch * length % PART) for weight in (*layers, head)}  # fmt: skip

    def products(n: int) -> None:
        for weight in layers:
            torch.nn.functional.linear(rows[n, weight.shape[1]], weight)

    def step() -> None:
        products(batch)
        torch.nn.functional.linear(rows[batch, head.shape[1]], head)

    def read() -> None:
        for _ in range(batch * length // PART):
            products(PART)
        if batch * length % PART:
            products(batch * length % PART)
        torch.nn.functional.linear(rows[batch, head.shape[1]], head)

    groups, width = config.num_key_value_heads, config.head_dim
    query = torch.randn(batch * groups, config.num_attention_heads // groups, width).to(dtype)
    # As many are known as on the mean of all steps; every layer reads its own.
    known = [
        torch.randn(2, batch * groups, length + new // 2, width).to(dtype) for _ in range(config.num_hidden_layers)
    ]

    def attention() -> None:
        for keys, values in known:
            (query @ keys.transpose(1, 2)) @ values

    some = 8

    def steps(work: Callable[[], None]) -> float:
        work()
        return seconds(lambda: [work() for _ in range(some)]) / some * (new - 1)  # type: ignore[func-returns-value]

    decode, attended = steps(step), steps(attention)
    read()  # warms up, as above
    return {"products prefill": seconds(read), "products decode": decode, "with attention": decode + attended}


def vllm(case: Case) -> Callable[[], Seconds]:
    from vllm import LLM, SamplingParams

    from pipeline.engines.transformers import load_tokenizer
    from pipeline.engines.vllm import arguments

    model: Any = LLM(model=weights_at(case.name), max_num_seqs=case.batch, **arguments(Engine(kind="vllm"), CONTEXT))
    prompts = Prompts(case, len(load_tokenizer(case.name)))

    def answer(new: int) -> None:
        params = [SamplingParams(temperature=0.7, seed=i, max_tokens=new, ignore_eos=True, detokenize=False)
                  for i in range(case.batch)]  # fmt: skip
        model.generate([{"prompt_token_ids": ids} for ids in prompts()], params, use_tqdm=False)

    def measure() -> Seconds:
        prefill = seconds(lambda: answer(1))
        return {"prefill": prefill, "decode": seconds(lambda: answer(case.new)) - prefill}

    return measure


class Child:
    """A process that measures once for each line that it is sent."""

    def __init__(self, which: str, case: Case):
        alone = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "VLLM_CPU_OMP_THREADS_BIND": "nobind",
                 "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}  # fmt: skip
        command = [PYTHONS[which], "-m", "benchmarks.engine", which, str(CASES.index(case))]
        self.which = which
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | alone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.measure()  # the first warms up

    def measure(self) -> Seconds:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith('{"prefill"'):  # vLLM prints beside it
                return dict(json.loads(line))
        raise SystemExit(f"{self.which} ended: see above")

    def end(self) -> None:
        self.process.communicate()


def compared(case: Case) -> dict[str, float]:
    children = {which: Child(which, case) for which, python in PYTHONS.items() if Path(python).exists()}
    rounds = [{which: child.measure() for which, child in children.items()} for _ in range(case.rounds)]
    for child in children.values():
        child.end()

    def mid(of: Callable[[dict[str, Seconds]], float]) -> float:
        return median(map(of, rounds))

    figures: dict[str, float] = {}
    for part, tokens in (("prefill", case.batch * case.length), ("decode", case.batch * (case.new - 1))):
        figures[f"{part} tokens_per_s"] = round(tokens / mid(lambda row, part=part: row["ours"][part]))  # type: ignore[misc]
        for limit in (f"products {part}", *(["with attention"] if part == "decode" else [])):
            share = mid(lambda row, part=part, limit=limit: row["ours"][limit] / row["ours"][part])  # type: ignore[misc]
            figures[f"{part} share of {limit.removesuffix(' ' + part)}"] = round(share, 3)
        if "vllm" in children:
            times = mid(lambda row, part=part: row["vllm"][part] / row["ours"][part])  # type: ignore[misc]
            figures[f"{part} times as fast as vllm"] = round(times, 2)
    return figures


def main() -> None:
    found: dict[str, dict[str, float]] = {}
    for case in CASES:
        if missing := not_made(case.name):
            print(f"left out: {missing}")
            continue
        found[f"{case.name} {case.batch}"] = figures = compared(case)
        print(f"{case.name} {case.batch}: {figures}", flush=True)
    found["this processor"] = {"bfloat16 times as fast as float32": round(bfloat16_gain(), 2)}
    table = Table("", *next(iter(found.values())))
    for label, row in found.items():
        table.add_row(label, *(str(value) for value in row.values()))
    Console().print(table)
    record("engine", found)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        measure = {"ours": ours, "vllm": vllm}[sys.argv[1]](CASES[int(sys.argv[2])])
        for _ in sys.stdin:
            print(json.dumps(measure()), flush=True)

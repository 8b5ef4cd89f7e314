"""Whether this processor computes faster in bfloat16 than in float32. It is measured, since no name of it says so.

A processor with AMX is several times faster in bfloat16; one without any instruction for it is slower.

    maieutic doctor     # says what was measured
"""

from __future__ import annotations

import time
from functools import cache
from typing import Literal

import torch
from transformers import LlamaConfig, LlamaModel

from pipeline.engines.settings import Dtype
from pipeline.engines.weights import is_embedded_base

# Times as fast as float32 that bfloat16 has to be. The nearer to 1, the oftener would two measurements disagree.
WORTH_IT = 1.25
ROWS, TOKENS = 16, 32
ROUNDS = 4


def computed_in(dtype: Literal["auto"] | Dtype, model: str) -> Dtype:
    """The type that `auto` is for a model here. An embedded base is small, and its figures are those of float32."""
    if dtype != "auto":
        return dtype
    if torch.cuda.is_available() or is_embedded_base(model):
        return "float32"
    return "bfloat16" if bfloat16_gain() >= WORTH_IT else "float32"


@cache
def bfloat16_gain() -> float:
    """How many times as fast as in float32 one core computes in bfloat16; about a second, once in a process.

    The least time of the core itself, whatever else the machine does, of some passes through two layers as wide as
    those of SmolLM2-135M, the two types in turns.
    """
    shape = LlamaConfig(
        vocab_size=64, hidden_size=576, intermediate_size=1536, num_hidden_layers=2, num_attention_heads=9,
        num_key_value_heads=3,
    )  # fmt: skip
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=()), torch.inference_mode():
            models = [LlamaModel(shape).eval().to(dtype) for dtype in (torch.float32, torch.bfloat16)]
            ids = torch.zeros(ROWS, TOKENS, dtype=torch.long)
            rounds = [[_seconds(model, ids) for model in models] for _ in range(1 + ROUNDS)][1:]  # the first warms up
    finally:
        torch.set_num_threads(threads)
    full, half = map(min, zip(*rounds, strict=True))
    return full / half


def _seconds(model: LlamaModel, ids: torch.Tensor) -> float:
    began = time.thread_time()
    model(input_ids=ids, use_cache=False)
    return time.thread_time() - began

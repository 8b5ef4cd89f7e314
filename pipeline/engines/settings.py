"""What a config says of an engine: who runs models, or whom they are asked from.

engine: {kind: vllm, dtype: bfloat16}                       # serves every role that names no other
engines: {api: {kind: openai, url: https://api.example.com/v1, key_env: EXAMPLE_KEY}}
partner: {model: large, engine: api}
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, field_validator, model_validator

from pipeline.core.config_reading import Section
from pipeline.core.errors import ConfigError

Kind = Literal["transformers", "vllm", "openai", "scripted"]
Dtype = Literal["float32", "bfloat16"]
KEY = "OPENAI_API_KEY"
SECRET = re.compile(r"api[ _-]?key|secret|password|authorization|(access|auth)[_-]?token|^token$", re.IGNORECASE)
A_VALUE = "a value of it"  # that is not repeated where it is refused
A_KEY = re.compile(r"\b(?:bearer\s|sk-|hf_)\w", re.IGNORECASE)
# Keys of a request that extra_body may not hold.
OF_A_REQUEST = frozenset(
    {"model", "messages", "max_tokens", "max_completion_tokens", "seed", "temperature", "top_p", "top_k", "min_p"}
) | {"response_format", "n", "stream"}


def _best_engine() -> Literal["transformers", "vllm"]:
    return "vllm" if importlib.util.find_spec("vllm") else "transformers"


def _keys(value: Any) -> Iterator[str]:
    """Of a mapping and all that stand in it, and texts that look like a key; a schema's own fields are no keys."""
    if isinstance(value, str) and A_KEY.search(value):
        yield A_VALUE
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(value, dict):
            yield str(key)
        if key != "properties":
            yield from _keys(item)


class Engine(Section):
    """What answers: `transformers` or `vllm` in this process, `openai` a server, `scripted` a fixed script."""

    kind: Kind = Field(default_factory=_best_engine)
    # auto: bfloat16 with transformers on a CPU that is faster with it, but for embedded bases; else float32.
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    batch: int = Field(default=128, ge=1)  # rows per forward pass (transformers)

    # Of vllm on a GPU: the share of its memory, weights included, that the models of this engine divide; None: vLLM's
    # own, an equal part of what others leave where several models run, or 0.4 beside a training that plays.
    gpu_memory_utilization: float | None = Field(default=None, gt=0, le=1)
    max_model_len: int | None = Field(default=None, ge=1)  # tokens of a context; None: all that the model can

    # Of openai, a server of that protocol.
    url: str = ""
    key_env: str = KEY  # the environment variable that holds its key, which is written nowhere
    timeout: float = Field(default=300, gt=0)  # seconds for one answer, the server's queue included
    retries: int = Field(default=5, ge=0)  # of a request that failed in a way that may pass
    requests_per_minute: float | None = Field(default=None, gt=0)  # retries among them; None: as many as are asked
    ranks: int = Field(default=1, ge=1)  # its data-parallel ranks; a dialogue stays on one, where its prefix is cached
    # What the server calls the limit of an answer, its reasoning included.
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    # when_set: a temperature is sent only where a role's sampling sets one, to servers that refuse any.
    temperature: Literal["always", "when_set"] = "always"
    extra_body: dict[str, Any] = {}  # further keys of each request, such as {reasoning_effort: low}

    _config_key: str = PrivateAttr("engine")

    @property
    def config_key(self) -> str:
        """Under which key of the config it stands, for messages: `engine`, or `engines.NAME`."""
        return self._config_key

    def standing_at(self, config_key: str) -> Self:
        """The same, with messages that name this key of the config."""
        copy = self.model_copy()
        copy._config_key = config_key
        return copy

    @property
    def fixed_dtype(self) -> Dtype:
        """Where nothing is measured: in deterministic runs, and in engines with kernels of their own."""
        return "float32" if self.dtype == "auto" else self.dtype

    def server_key(self) -> str:
        """The server's key from the environment; '' where the default variable is not set, for servers without one.

        Raises ConfigError where another variable is named and not set, or holds what no header can.
        """
        key = os.environ.get(self.key_env, "").strip()  # mounted secrets end in a newline
        if not key and self.key_env != KEY:
            raise ConfigError(
                f"{self.config_key}.key_env: {self.key_env} is not set in the environment. Set it to the server's key "
                f"(export {self.key_env}=...), or leave key_env out where the server wants none."
            )
        if not key.isprintable():
            raise ConfigError(
                f"{self.config_key}.key_env: {self.key_env} holds control characters, which no header can. Set it anew."
            )
        return key

    def __eq__(self, other: object) -> bool:  # wherever it stands: engines that are set alike share models
        return isinstance(other, Engine) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @model_validator(mode="after")
    def _asks_whom_it_names(self) -> Self:
        if self.url and "kind" not in self.model_fields_set:
            raise ValueError(
                f"url: {self.url!r} is a server's address, and kind is not set, so that a model in this process would "
                "answer. Set kind: openai, or leave url out"
            )
        return self

    @field_validator("extra_body")
    @classmethod
    def _is_beside_the_rest(cls, body: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(OF_A_REQUEST & set(body)):
            raise ValueError(
                f"{taken[0]!r} is written into each request from the config's other keys (a role's model and sampling, "
                "dialogue.max_tokens), or would change what an answer is. Set it there"
            )
        if keys := [key for key in _keys(body) if SECRET.search(key) or key == A_VALUE]:
            raise ValueError(
                f"{keys[0]!r} looks like a secret, and a config is written into the run. Put the server's key into the "
                "environment, and its variable's name into key_env"
            )
        return body

    @field_validator("url")
    @classmethod
    def _holds_no_secret(cls, url: str) -> str:
        # A config is copied into the run, its cards and error messages. The address is not repeated here either.
        if set("@?#") & set(url):
            raise ValueError(
                "an address without a name, a password or a query is expected, such as http://127.0.0.1:8000/v1, since "
                "it is written into the run. Put the server's key into the environment, and its variable's name into "
                "key_env"
            )
        return url

    @field_validator("key_env")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        # Who writes the key itself here is not shown it again: this message may be logged.
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
            raise ValueError(
                f"the name of an environment variable in capitals is expected, such as {KEY}, and never a key itself"
            )
        return name

"""What a config says of the engine that runs the models."""

from __future__ import annotations

import importlib.util
from typing import Literal

from pydantic import Field, field_validator

from pipeline.core.config_reading import Section


def _best_engine() -> Literal["transformers", "vllm"]:
    return "vllm" if importlib.util.find_spec("vllm") else "transformers"


class Engine(Section):
    """What answers: `transformers` or `vllm` in this process, `openai` a server, `scripted` a fixed script."""

    kind: Literal["transformers", "vllm", "openai", "scripted"] = Field(default_factory=_best_engine)
    dtype: Literal["float32", "bfloat16"] = "float32"
    batch: int = Field(default=128, ge=1)  # rows per forward pass (transformers)
    url: str = ""  # of an OpenAI-compatible server
    timeout: float = Field(default=300, gt=0)  # seconds for one answer of a server, its queue included
    ranks: int = Field(default=1, ge=1)  # its data-parallel ranks; a dialogue stays on one, where its prefix is cached

    @field_validator("url")
    @classmethod
    def _holds_no_secret(cls, url: str) -> str:
        # A config is copied into the run, its cards and error messages. The address is not repeated here either.
        if set("@?#") & set(url):
            raise ValueError(
                "an address without a name, a password or a query is expected, such as http://127.0.0.1:8000/v1, since "
                "it is written into the run. Put the server's key into the environment as OPENAI_API_KEY"
            )
        return url

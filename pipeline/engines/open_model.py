"""The engine that a config names, opened. Engines import slowly, or not at all where their library is not installed.

Whoever asks for the same weights through the same engine gets one instance, while somebody holds it: roles that share
both share one, and an adapter that nobody uses any more is let go.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from types import ModuleType
from weakref import WeakValueDictionary

from pipeline.core.errors import ConfigError
from pipeline.engines.model import Model
from pipeline.engines.settings import Engine

_opened: WeakValueDictionary[tuple[Engine, str, str | None], Model] = WeakValueDictionary()


def open_model(engine: Engine, model: str, adapter: str | None = None, deterministic: bool = False) -> Model:
    """The engine of a config with weights: a directory or hub name (or a server's model name), and a LoRA directory.

    `deterministic` is a batch of one, in a type that rests on no measurement (transformers). Raises ConfigError where
    the weights cannot be used.
    """
    if deterministic:
        engine = engine.model_copy(update={"batch": 1, "dtype": engine.fixed_dtype})
    opened = _opened.get((engine, model, adapter))
    if opened is None:
        opened = _opened[engine, model, adapter] = _load(engine, model, adapter)
    return opened


def require_installed(engines: Iterable[Engine]) -> None:
    """Raises ConfigError for the first whose library is not installed, as opening it would."""
    for engine in engines:
        if engine.kind == "vllm" and importlib.util.find_spec("vllm") is None:
            _vllm(engine)


def _vllm(engine: Engine) -> ModuleType:
    try:
        from pipeline.engines import vllm
    except ConfigError as missing:
        raise ConfigError(f"{engine.config_key}.{missing}") from missing
    return vllm


def _load(engine: Engine, model: str, adapter: str | None) -> Model:
    """Engines are imported here, so that the command's help is fast and vLLM optional."""
    match engine.kind:
        case "transformers":
            from pipeline.engines import transformers

            return transformers.load(engine, model, adapter)
        case "vllm":
            loaded: Model = _vllm(engine).load(engine, model, adapter)
            return loaded
        case "openai":
            from pipeline.engines import openai

            return openai.load(engine, model, adapter)
        case "scripted":
            from pipeline.engines import scripted

            return scripted.ScriptedModel()

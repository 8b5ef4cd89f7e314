"""The engine that a config names, opened. Engines import slowly, or not at all where their library is not installed."""

from __future__ import annotations

from pipeline.engines.model import Model
from pipeline.engines.settings import Engine


def open_model(engine: Engine, model: str, adapter: str | None = None, deterministic: bool = False) -> Model:
    """The engine of a config with weights: a directory or hub name (or a server's model name), and a LoRA directory.

    `deterministic` is a batch of one (transformers). Raises ConfigError where the weights cannot be used.
    Engines are imported here, so that the command's help is fast and vLLM optional.
    """
    match engine.kind:
        case "transformers":
            from pipeline.engines import transformers

            rows = 1 if deterministic else engine.batch
            return transformers.load(engine.model_copy(update={"batch": rows}), model, adapter)
        case "vllm":
            from pipeline.engines import vllm

            return vllm.load(engine, model, adapter)
        case "openai":
            from pipeline.engines import openai

            return openai.load(engine, model, adapter)
        case "scripted":
            from pipeline.engines import scripted

            return scripted.ScriptedModel()

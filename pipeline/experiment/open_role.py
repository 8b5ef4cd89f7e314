"""The model of a role, opened through the role's engine.

Roles of one engine and one model share an instance. Where several models run on vLLM in this process, each gets a part
of the memory, and it is said which.
"""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.engines.model import Model
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.experiment.asked_in_role import InRole
from pipeline.experiment.fields import WHOLE, Fields
from pipeline.experiment.roles import RoleName


def open_role(experiment: Fields, name: RoleName, adapter: Path | None = None) -> InRole:
    """Raises ConfigError where its weights cannot be used."""
    role, engine = experiment.role(name), engines_in_use(experiment).get(name, experiment.engine_of(name))
    path = None if adapter is None else str(adapter)
    model: Model = open_model(engine, role.model, path, experiment.dialogue.deterministic)
    return InRole(model, name, role)


def engines_in_use(experiment: Fields) -> dict[RoleName, Engine]:
    """The engine of each role in use. Where several models run on vLLM, each has its part of the memory.

    A share that an engine names is divided between its models; engines that name none divide what others leave.
    """
    engines = {name: experiment.engine_of(name) for name in experiment.roles_in_use}
    models = experiment.vllm_models
    if sum(map(len, models.values())) < 2:
        return engines
    shares = {named: engine.gpu_memory_utilization for named, engine in experiment.named_engines.items()}
    taken = sum(shares[named] or 0 for named in models)
    without = sum(len(those) for named, those in models.items() if shares[named] is None)
    for name, engine in engines.items():
        named = experiment.role(name).engine
        if engine.kind == "vllm":
            whole = shares[named]
            part = (WHOLE - taken) / without if whole is None else whole / len(models[named])
            engines[name] = engine.model_copy(update={"gpu_memory_utilization": part})
    return engines


def memory_said(experiment: Fields) -> str:
    """How models that run beside each other on vLLM divide the memory, in words; '' where one runs alone."""
    parts = {
        (experiment.role(name).model, engine): f"{experiment.role(name).model} {engine.gpu_memory_utilization:.2f}"
        for name, engine in engines_in_use(experiment).items()
        if engine.kind == "vllm" and engine.gpu_memory_utilization is not None
    }
    if len(parts) < 2:
        return ""
    import torch  # heavy

    if torch.cuda.is_available():
        return f"vLLM: shares of a GPU's memory: {', '.join(parts.values())}"
    each = os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1")  # vLLM's own; without it pipeline/engines/vllm.py gives 1 GiB
    return f"vLLM on a CPU: {each} GiB of keys and values for each of {', '.join(model for model, _ in parts)}"

"""Whether a student can learn as `training` says, with the engine that samples.

Raises ValueError, which a config's reader tells with the file and the key.
"""

from __future__ import annotations

from pipeline.experiment.fields import Fields
from pipeline.experiment.lora import unserved
from pipeline.knowledge.condition import ONLINE


def check_training(experiment: Fields) -> None:
    """Raises ValueError for an adapter that its engine cannot serve, and for a base that learns in 4 bits otherwise."""
    training, engine = experiment.training, experiment.engine_of("student")
    if engine.kind == "vllm" and (field := unserved(training.lora)):
        raise ValueError(
            f"training.lora.{field} gives an adapter that vLLM cannot serve. Leave it out, or give the student an "
            "engine of kind transformers"
        )
    if not training.load_in_4bit:
        return
    if training.bf16 is not True:
        raise ValueError("training.load_in_4bit: true learns in bfloat16. Set training.bf16: true, too")
    plays = [name for name, condition in experiment.conditions.items() if condition.method in ONLINE]
    if plays and engine.kind == "vllm":
        raise ValueError(
            f"training.load_in_4bit: true with conditions.{plays[0]}.method: "
            f"{experiment.conditions[plays[0]].method!r} and vLLM: it would sample from a base in {engine.fixed_dtype} "
            "for a student whose base is in 4 bits. Give the student an engine of kind transformers, or leave this out"
        )

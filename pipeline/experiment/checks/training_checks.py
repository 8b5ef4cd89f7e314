"""Whether a student can learn as `training` says, with the engine that samples.

Raises ValueError, which a config's reader tells with the file and the key.
"""

from __future__ import annotations

from pipeline.core.errors import ConfigError
from pipeline.experiment.fields import Fields
from pipeline.experiment.lora import unserved
from pipeline.knowledge.condition import ONLINE


def check_beginning(experiment: Fields) -> None:
    """Raises ValueError for a warm-up without tasks of its own, and for a prompt that some samples cannot have."""
    student, source = experiment.student, experiment.source
    if student.warmup and not source.has_base:
        raise ValueError(
            f"student.warmup: source {experiment.tasks.source!r} keeps no tasks apart for a base. Leave it out, or use "
            "a source that does: lookup, embedded, hidden_item"
        )
    if student.warmup and (student.warmup.used or student.warmup.ways) and not source.has_options:
        raise ValueError(
            f"student.warmup: tasks of `used` and `ways` have options, and those of source "
            f"{experiment.tasks.source!r} have none. Set both to 0, or use the source hidden_item"
        )
    if experiment.prompts("student").demonstrate("student"):
        raise ValueError(
            f"student.prompts: {student.prompts!r} has demonstrations, which would stand in every row that is learned. "
            "Name it as student.sampling_prompt"
        )
    if not student.sampling_prompt:
        return
    try:
        for condition in experiment.conditions.values():
            experiment.sampling_prompts(condition)
    except ConfigError as error:
        raise ValueError(str(error)) from error
    for name, condition in experiment.conditions.items():
        if condition.method in ONLINE and condition.sampling_prompt:
            raise ValueError(
                f"conditions.{name}.sampling_prompt: method {condition.method!r} learns what it reads while it plays, "
                "so that no prompt can be left out of it. Set sampling_prompt: false"
            )


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

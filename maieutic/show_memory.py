"""How much memory the training of an experiment takes, as `maieutic preview` prints it, with what it assumes."""

from __future__ import annotations

from pipeline.experiment.experiment import Experiment


def memory_lines(experiment: Experiment) -> list[str]:
    """Sentences with numbers; why there are none, where the student's config cannot be read here."""
    from training.inputs.job import in_bf16
    from training.largest_pass import largest_pass, memory_of
    from training.memory_needed import FACTOR, cache_bytes_per_token, sizes_of

    settings, bf16 = experiment.training, in_bf16(experiment)
    try:
        sizes = sizes_of(experiment.student.model, settings.lora)
    except (OSError, ValueError) as error:
        return [f"memory of training: unknown, {str(error).splitlines()[0]}"]
    largest, memory = largest_pass(experiment, sizes), memory_of(experiment, sizes)
    parts = ", ".join(f"{name} {_size(size)}" for name, size in memory._asdict().items())
    kind = "4 bits" if settings.load_in_4bit else "bfloat16" if bf16 else "float32"
    saved = "with" if settings.gradient_checkpointing else "without"
    lines = [
        f"memory of training: about {_size(memory.total)} a process ({parts}), up to {FACTOR} times that",
        f"  assumed: {sizes.linear + sizes.other:,} weights in {kind}, {sizes.adapter:,} of the adapter; "
        f"{largest.rows} sequences of {largest.length} tokens in one pass ({largest.method}), each as long as "
        "training.max_length allows, or as what is played may become; "
        f"{saved} gradient checkpointing; libraries (CUDA about 1 GiB) not counted",
    ]
    engine = experiment.engine_of("student")
    if engine.kind == "vllm":
        a_token = cache_bytes_per_token(sizes, engine.fixed_dtype == "bfloat16")
        talk = min(largest.length, engine.max_model_len or largest.length)
        at_once = experiment.dialogue.at_a_time
        lines.append(
            f"  vLLM beside it keeps {_size(a_token)} of keys and values a token: {at_once} dialogues of {talk} tokens "
            f"at once take {_size(a_token * talk * at_once)} where they share no prefix, and its weights come on top"
        )
    return lines


def _size(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 2**10:.1f} KiB"

"""The LoRA adapter as a config says it: fields of PEFT's own LoraConfig, by their names there.

`training.lora` goes straight into `peft.LoraConfig`, so this checks against that dataclass and knows no list of its own
but of what cannot be: an adapter here stands on the base's weights as they are, and must be read by every engine.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from pipeline.core.errors import meant

DEFAULT: dict[str, Any] = {"r": 16, "lora_alpha": 32, "target_modules": "all-linear"}
# What PEFT fills in or reads back, and what only other programs use.
OURS = {"runtime_config", "loftq_config", "eva_config", "corda_config", "lora_ga_config", "megatron_config",
        "megatron_core", "arrow_config"}  # fmt: skip
# They leave the base as it is, and need no data of their own: PiSSA, OLoRA, CorDA and others change its weights.
INITS = (True, False, "gaussian", "orthogonal", "mica")
GREATEST = 512  # rank that vLLM takes
OLD = {"rank": "r", "alpha": "lora_alpha", "dropout": "lora_dropout"}


def checked_lora(given: dict[str, Any]) -> dict[str, Any]:
    """`given` over the defaults. Raises ValueError that names the key, what was found and what PEFT takes."""
    values = DEFAULT | given
    if values == DEFAULT:  # PEFT takes seconds to import, and most configs need none of it here
        return values
    from peft import LoraConfig, PeftConfig

    kinds = get_type_hints(LoraConfig)
    known = {field.name for field in fields(LoraConfig)} - {field.name for field in fields(PeftConfig)} - OURS
    for key, value in given.items():
        if key not in known:
            raise ValueError(
                f"{key}: not a field of PEFT's LoraConfig that a config may set."
                f"{meant(OLD.get(key, key), known)} Known: {', '.join(sorted(known))}"
            )
        if key == "init_lora_weights":
            _check_init(value)
            continue
        try:
            values[key] = TypeAdapter(kinds[key]).validate_python(value)  # YAML reads 5e-2 as text
        except ValidationError as error:
            raise ValueError(f"{key}: {value!r}: {error.errors()[0]['msg']}, as PEFT's LoraConfig has it") from None
    if values.get("bias", "none") != "none":
        raise ValueError(
            f"bias: {values['bias']!r}: it trains biases of the base itself, which stay as they are here: DPO and KTO "
            "compare with it. Leave it out"
        )
    if isinstance(values["target_modules"], str):
        try:
            re.compile(values["target_modules"])
        except re.error as error:
            raise ValueError(
                f"target_modules: {values['target_modules']!r} is no regular expression ({error}). Write one, or a "
                "list of names"
            ) from None
    if values["r"] < 1:
        raise ValueError(f"r: {values['r']}: the rank is 1 or more, such as 16")
    if not 0 <= values.get("lora_dropout", 0) < 1:
        raise ValueError(f"lora_dropout: {values['lora_dropout']}: a share from 0 to below 1 is expected, such as 0.05")
    try:
        LoraConfig(**values)
    except (TypeError, ValueError) as error:  # what PEFT itself refuses of several fields together
        raise ValueError(f"{', '.join(given)}: PEFT's LoraConfig refuses that: {error}") from None
    return values


def _check_init(value: Any) -> None:
    if not any(value is init or (isinstance(init, str) and value == init) for init in INITS):
        raise ValueError(
            f"init_lora_weights: {value!r} is none of {', '.join(str(init).lower() for init in INITS)}: others change "
            "the base's own weights or need data beforehand, and an adapter here stands on the base as it is"
        )


def unserved(lora: dict[str, Any]) -> str:
    """The first field that vLLM cannot serve, with its value; empty where it serves the adapter."""
    # It scales all layers alike, by lora_alpha / r, and knows low-rank weights of linear layers alone.
    served: dict[str, Any] = dict.fromkeys(
        ("modules_to_save", "use_bdlora", "trainable_token_indices", "target_parameters", "alora_invocation_tokens",
         "layer_replication", "kasa_config", "monteclora_config"),
    )  # fmt: skip
    served |= {"use_dora": False, "lora_bias": False, "bias": "none", "rank_pattern": {}, "alpha_pattern": {}}
    other = [key for key, value in served.items() if (lora.get(key) or value) != value]
    if lora["r"] > GREATEST:
        other.append("r")
    return f"{other[0]}: {lora[other[0]]!r}" if other else ""

"""How much memory a training takes, reckoned before it runs: a pure function of sizes, and where the sizes come from.

    maieutic preview configs/sharded_qwen3_0.6b.yaml     # prints it, with what it assumes

Measured on a CPU in float32 (tests/training/test_memory_needed.py): the process's peak is within FACTOR of `total`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from pipeline.engines.weights import weights_at

FACTOR = 1.5  # by which the estimate may be too low or too high
TILE = 4096 * 8192  # logits that TRL's kernel holds at once, tokens x words
NF4 = 0.52  # bytes of a weight in 4 bits, with its share of the quantized constants


class Sizes(NamedTuple):
    """Of a base and its adapter, in weights, and in widths of the layers."""

    linear: int  # weights that 4 bits would hold
    other: int  # embeddings, norms and the head
    adapter: int
    layers: int
    hidden: int
    intermediate: int
    attention: int  # heads x their width
    keys: int  # key-value heads x their width
    vocabulary: int
    context: int  # tokens


class Memory(NamedTuple):
    """Bytes of one process at the peak of a pass."""

    weights: int
    adapter: int  # with its gradients
    optimizer: int  # AdamW's two moments
    activations: int  # kept for the backward pass
    logits: int

    @property
    def total(self) -> int:
        return sum(self)


def training_memory(
    sizes: Sizes, rows: int, length: int, learned: int, bf16: bool, four_bits: bool, checkpointing: bool, tiled: bool
) -> Memory:
    """Memory of a pass of `rows` sequences of `length` tokens, `learned` of all of which carry loss.

    Assumes LoRA on all linear layers of a Llama-like decoder, attention that keeps no scores (SDPA), AdamW, and logits
    of learned tokens alone in float32, with their gradient and one copy; `tiled`, of a tile at a time, as TRL's kernel
    has them on a GPU. Not in it: what the libraries take (CUDA about 1 GiB), what an allocator wastes, and whatever
    else runs on the device.
    """
    wide = 2 if bf16 else 4
    weights = sizes.linear * (NF4 if four_bits else wide) + sizes.other * wide
    trained = 2 if four_bits else 4  # the adapter is in float32 whatever the base is, but in bfloat16 under QLoRA
    tokens, layer = rows * length, _of_layer(sizes, bf16)
    kept = sizes.layers * sizes.hidden * wide + layer if checkpointing else sizes.layers * layer
    kept += 3 * sizes.intermediate * wide  # gradients of one layer's widest parts, on the way back
    return Memory(
        weights=int(weights),
        adapter=2 * trained * sizes.adapter,
        optimizer=2 * trained * sizes.adapter,
        activations=tokens * kept,
        logits=3 * 4 * min(learned * sizes.vocabulary, TILE if tiled else learned * sizes.vocabulary),
    )


def _of_layer(sizes: Sizes, bf16: bool) -> int:
    """Bytes of one token that a layer keeps for its backward pass, its adapters' among them."""
    hidden, attention, wide = sizes.hidden, sizes.attention, sizes.intermediate
    if not bf16:
        # Both norms' inputs and outputs; queries, keys and values (repeated for all heads), and what attention gives;
        # gate, its activation, up and their product.
        return 4 * (4 * hidden + 4 * attention + 4 * wide)
    # Norms work in float32; each adapter reads a copy of its own of its input.
    return 2 * 4 * hidden + 2 * (2 * hidden + 5 * hidden) + 2 * (4 * attention + attention) + 2 * (4 * wide)


def cache_bytes_per_token(sizes: Sizes, bf16: bool) -> int:
    """Of keys and values that an engine such as vLLM keeps for one token."""
    return 2 * sizes.layers * sizes.keys * (2 if bf16 else 4)


def sizes_of(model: str, lora: dict[str, Any]) -> Sizes:
    """Of a base that has a config here or on the hub; no weights are read. Raises OSError where there is none."""
    config = AutoConfig.from_pretrained(weights_at(model))
    with torch.device("meta"):
        base: Any = AutoModelForCausalLM.from_config(config)
        head = base.get_output_embeddings()
        layers = [each for each in base.modules() if isinstance(each, torch.nn.Linear) and each is not head]
        linear = sum(layer.weight.numel() for layer in layers)
        whole = sum(weight.numel() for weight in base.parameters())  # a tied head is counted once
        student = get_peft_model(base, LoraConfig(**lora, task_type="CAUSAL_LM"))
    text = config.get_text_config()
    # Some configs leave it out, and a tower that sees has another.
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return Sizes(
        linear=linear,
        other=whole - linear,
        adapter=sum(weight.numel() for weight in student.parameters() if weight.requires_grad),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        intermediate=text.intermediate_size,
        attention=text.num_attention_heads * head,
        keys=text.num_key_value_heads * head,
        vocabulary=text.vocab_size,
        context=text.max_position_embeddings,
    )

"""A model directory as small as one can be: bytes as tokens, random weights, a vocabulary padded past the tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
CONTEXT = 96


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("model")
    names = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|pad|>", eos_token="<|end|>",
                            chat_template=TEMPLATE).save_pretrained(where)  # fmt: skip
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(names) + 59, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=32, max_position_embeddings=CONTEXT, initializer_range=0.3, bos_token_id=None,
        eos_token_id=SPECIAL.index("<|end|>"), pad_token_id=0,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    model.lm_head.weight.data[config.eos_token_id] *= 2  # so that some rows end early
    model.save_pretrained(where)
    return where

"""Small real parts that the training tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import logging

from pipeline.engines.transformers import load_tokenizer
from tests.chat_templates import template
from training.embedded.base import make_model

torch.set_num_threads(1)
logging.disable_progress_bar()


@pytest.fixture(scope="session")
def base_tokenizer() -> PreTrainedTokenizerFast:
    """The shipped base's, which `make_tokenizer` made."""
    return load_tokenizer("data/base")


@pytest.fixture(scope="session")
def embedded(base_tokenizer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("embedded")
    torch.manual_seed(0)
    make_model(len(base_tokenizer), 32, 2).save_pretrained(folder)
    base_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def qwen3(base_tokenizer, tmp_path_factory) -> Path:
    """A Qwen3 checkpoint with untied embeddings, its control tokens and the published chat template."""
    folder = tmp_path_factory.mktemp("qwen3")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=base_tokenizer._tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )
    tokenizer.chat_template = template("qwen3")
    torch.manual_seed(0)
    Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer) + 5,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            max_position_embeddings=512,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)

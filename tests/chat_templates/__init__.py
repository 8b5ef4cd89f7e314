"""Published chat templates with a small tokenizer each, which has the template's control tokens."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

HERE = Path(__file__).parent
CHATML = ("<|im_start|>", "<|im_end|>")
LLAMA = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
GEMMA = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")


class Published(NamedTuple):
    control: tuple[str, ...]
    end: str  # of a turn
    bos: str | None = None
    eos: str = ""  # of the tokenizer; empty: the end of a turn
    thought: tuple[str, ...] = ()  # tags that are tokens, though not special ones
    opening: str = ""  # that the model writes before its words
    system: str = "own"  # where a system message stands: its own, folded into the first user message, or in the last


PUBLISHED = {
    "qwen3": Published(CHATML, "<|im_end|>", thought=("<think>", "</think>")),
    "qwen2_5": Published(CHATML, "<|im_end|>"),
    "smollm2": Published(CHATML, "<|im_end|>"),
    "llama3": Published(LLAMA, "<|eot_id|>", bos="<|begin_of_text|>"),
    "llama3_2": Published(LLAMA, "<|eot_id|>", bos="<|begin_of_text|>"),
    "gemma": Published(GEMMA, "<end_of_turn>", bos="<bos>", eos="<eos>", system="folded"),
    "gemma3": Published(GEMMA, "<end_of_turn>", bos="<bos>", eos="<eos>", system="folded"),
    "mistral": Published(("<s>", "</s>", "[INST]", "[/INST]"), "</s>", bos="<s>", opening=" ", system="last"),
}


def template(name: str) -> str:
    """A template's text, from here or from TRL, which carries copies."""
    place = HERE if (HERE / f"{name}.jinja").is_file() else files("trl").joinpath("chat_templates")
    return place.joinpath(f"{name}.jinja").read_text(encoding="utf-8")


def tokenizer_of(name: str, lines: list[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE of a few hundred tokens, trained on `lines`, with the published template `name`."""
    own = PUBLISHED[name]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>", *own.control],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in own.thought])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token=own.bos,
        eos_token=own.eos or own.end,
        chat_template=template(name),
        clean_up_tokenization_spaces=False,
    )

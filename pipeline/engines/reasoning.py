"""Reasoning before an answer, between the tags that chat models write it in: `<think>...</think>` and the answer.

Templates of some models open the thought themselves, so that what is sampled begins inside of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # it takes seconds to import, and a server's answers need none of it
    from transformers import PreTrainedTokenizerBase

OPEN, CLOSE = "<think>", "</think>"
# Stands for an answer in a rendered chat, where its own words might be another's too. No tokenizer reads it.
ANSWER = "\ue000answer\ue000"
TAIL = 8  # tokens of a prompt in which the tag that opens a thought would stand


class Said(NamedTuple):
    """What a model wrote, apart. Both are stripped."""

    reasoning: str
    answer: str


def parted(text: str, opened: bool = False) -> Said:
    """A text in its two parts; `opened`: its prompt ends inside a thought. Without its end a thought is all."""
    before, closed, answer = text.partition(CLOSE)
    if closed:
        return Said(before.strip().removeprefix(OPEN).strip(), answer.strip())
    if opened or before.lstrip().startswith(OPEN):
        return Said(before.strip().removeprefix(OPEN).strip(), "")
    return Said("", text.strip())


def is_opened(prompt: str) -> bool:
    """Whether a rendered prompt ends inside a thought."""
    return prompt.rstrip().endswith(OPEN)


class Sampled(NamedTuple):
    """What sampled ids say."""

    said: Said
    reasoning_tokens: int  # the first of the ids, the closing tag included


def read_ids(tokenizer: PreTrainedTokenizerBase, prompt: Sequence[int], ids: Sequence[int]) -> Sampled:
    """An answer of ids to a prompt of ids, apart."""

    def text(some: Sequence[int]) -> str:
        return str(tokenizer.decode(list(some), skip_special_tokens=True))

    said = parted(text(ids), is_opened(text(prompt[-TAIL:])))
    if not said.reasoning:
        return Sampled(said, 0)
    if not said.answer:
        return Sampled(said, len(ids))
    # `parted` found the tag, so that some beginning of the ids has it, and all longer ones do.
    return Sampled(said, 1 + bisect_left(range(1, len(ids)), True, key=lambda k: CLOSE in text(ids[:k])))

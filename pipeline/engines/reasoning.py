"""Reasoning before an answer, between the tags that models write it in: `<think>...</think>` and the answer.

`<thinking>...</thinking>` is read alike. Templates of some models open the thought themselves, so that what is sampled
begins inside of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # it takes seconds to import, and a server's answers need none of it
    from transformers import PreTrainedTokenizerBase

OPEN, CLOSE = "<think>", "</think>"  # that templates and kept thoughts are written with
OPENING, CLOSING = re.compile(r"\s*<(think|thinking)>"), re.compile(r"</(think|thinking)>")
# Stands for an answer in a rendered chat, where its own words might be another's too. No tokenizer reads it.
ANSWER = "\ue000answer\ue000"
TAIL = 8  # tokens of a prompt in which the tag that opens a thought would stand


class Said(NamedTuple):
    """What a model wrote, apart. Both are stripped."""

    reasoning: str
    answer: str


def parted(text: str, opened: bool = False) -> Said:
    """A text in its two parts; `opened`: its prompt ends inside a thought. Without its end a thought is all."""
    if not opened and "think" not in text:  # most texts
        return Said("", text.strip())
    opening, closing = OPENING.match(text), _closing(text)
    begin = opening.end() if opening else 0
    if closing:
        return Said(text[begin : closing.start()].strip(), text[closing.end() :].strip())
    return Said(text[begin:].strip(), "") if opened or opening else Said("", text.strip())


def _closing(text: str) -> re.Match[str] | None:
    """The tag that ends a text's thought: of the word that opened it, or of either where a template did."""
    opening = OPENING.match(text)
    return next((tag for tag in CLOSING.finditer(text) if not opening or tag[1] == opening[1]), None)


def is_opened(prompt: str) -> bool:
    """Whether a rendered prompt ends inside a thought."""
    return prompt.rstrip().endswith(OPEN)


def closed(prompt: str) -> str:
    """A rendered prompt behind which nobody reasons: a thought that the template opened has ended, empty."""
    return f"{prompt.rstrip()}\n\n{CLOSE}\n\n" if is_opened(prompt) else prompt


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
    return Sampled(said, 1 + bisect_left(range(1, len(ids)), True, key=lambda k: _closing(text(ids[:k])) is not None))

"""One turn that people have labelled, and which part of its corpus it belongs to."""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple

from pipeline.tasks.parsing import BadRow

Part = Literal["train", "test"]


class LabelledTurn(NamedTuple):
    """One turn. `before` is the text of the turn before it, or ''; `own` says whether the same speaker said that."""

    corpus: str
    conversation: str
    position: int
    role: str
    text: str
    before: str
    labels: tuple[str, ...]
    part: Part
    own: bool | None = None  # None where the corpus does not say


Read = tuple[list[LabelledTurn], list[BadRow]]


def part_of(conversation: str) -> Part:
    """Which part a conversation belongs to, by its name's hash: half of them are tested on."""
    return "test" if int(hashlib.sha256(conversation.encode()).hexdigest(), 16) % 2 else "train"

"""One example that an embedded base is trained on."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.core.schema import Message

PROBE = "Say only your own answer."


class TrainingExample(NamedTuple):
    """Chat messages, and which of them (by index, all `assistant`) carry loss."""

    messages: list[Message]
    learn: frozenset[int]

"""What engines were asked, and how much of it they had read before: usage.jsonl, a line a stage.

A prompt repeats all earlier turns of its dialogue. An engine that keeps what it computed of them reads only the
new ones: the hit rate is the share of prompt tokens that it did not have to read again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.core.schema import Message, Record, digest
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.cell import Cell
from pipeline.runs.store import Appender, read


class Usage(Record):
    """Sums over the answers of one stage. `cached_tokens` of the `prompt_tokens` came from the engine's memory."""

    id: str
    stage: str
    condition_name: str
    seed: int
    round: int
    engine: str
    answers: int
    prompt_tokens: int
    cached_tokens: int | None  # None: the engine does not say
    generated_tokens: int


class Meter:
    """Adds up the answers of models."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.answers = self.prompt_tokens = self.generated_tokens = 0
        self.cached_tokens: int | None = None

    def add(self, answer: Completion) -> None:
        self.answers += 1
        self.prompt_tokens += answer.prompt_tokens
        if answer.cached_tokens is not None:
            self.cached_tokens = (self.cached_tokens or 0) + answer.cached_tokens
        self.generated_tokens += answer.tokens

    def store(self, folder: Path, stage: str, cell: Cell) -> str:
        """Append what was added up to usage.jsonl, begin anew, and give the hit rate in words."""
        if not self.answers:
            return ""
        path = folder / "usage.jsonl"
        earlier = [usage.id for usage in read(path, Usage)]
        of = {
            "stage": stage,
            "condition_name": cell.condition_name,
            "seed": cell.seed,
            "round": cell.round,
            "engine": cell.experiment.engine.kind,
        }
        with Appender(path) as file:
            file.append(Usage(id=digest(folder.name, of, vars(self), earlier), **of, **vars(self)))
        share = None if self.cached_tokens is None else self.cached_tokens / max(self.prompt_tokens, 1)
        self._begin()
        return "" if share is None else f", {share:.0%} of prompt tokens from cache"


class Metered:
    """A model each of whose answers is counted: added up (`Meter.add`), or shown as progress."""

    def __init__(self, model: Model, count: Callable[[Completion], object]):
        self.model, self.count = model, count

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        answer = await self.model.complete(messages, sampling)
        self.count(answer)
        return answer

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)


def totals(run: Path) -> list[dict[str, Any]]:
    """Sums of usage.jsonl by stage and engine, with `hit_rate`: NaN where the engine does not say."""
    groups: dict[tuple[str, str], list[Usage]] = {}
    for usage in read(run / "usage.jsonl", Usage):
        groups.setdefault((usage.stage, usage.engine), []).append(usage)
    rows = []
    for (stage, engine), usages in groups.items():
        known = [usage for usage in usages if usage.cached_tokens is not None]
        prompts = sum(usage.prompt_tokens for usage in known)
        rows.append(
            {
                "stage": stage,
                "engine": engine,
                "answers": sum(usage.answers for usage in usages),
                "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
                "generated_tokens": sum(usage.generated_tokens for usage in usages),
                "hit_rate": sum(usage.cached_tokens or 0 for usage in known) / prompts if prompts else math.nan,
            }
        )
    return rows

"""What engines were asked, and how much of it they had read before: usage.jsonl, a line a stage and role.

A prompt repeats all earlier turns of its dialogue. An engine that keeps what it computed of them reads only the
new ones: the hit rate is the share of prompt tokens that it did not have to read again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.core.schema import Message, Record, digest
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.roles import RoleName
from pipeline.runs.store import Appender, read


class Usage(Record):
    """Sums over the answers of one role in one stage. `cached_tokens` of the `prompt_tokens` came from the engine's
    memory, `reasoning_tokens` of the `generated_tokens` were reasoning."""

    id: str
    stage: str
    condition_name: str
    seed: int
    round: int
    role: str
    engine: str
    model: str
    answers: int
    prompt_tokens: int
    cached_tokens: int | None  # None: the engine does not say
    generated_tokens: int
    reasoning_tokens: int


@dataclass
class Tally:
    """What one role answered since its meter was stored."""

    answers: int = 0
    prompt_tokens: int = 0
    cached_tokens: int | None = None
    generated_tokens: int = 0
    reasoning_tokens: int = 0

    def add(self, answer: Completion) -> None:
        self.answers += 1
        self.prompt_tokens += answer.prompt_tokens
        if answer.cached_tokens is not None:
            self.cached_tokens = (self.cached_tokens or 0) + answer.cached_tokens
        self.generated_tokens += answer.tokens
        self.reasoning_tokens += answer.reasoning_tokens


class Meter:
    """Adds up the answers of models, by the role that they were asked in."""

    def __init__(self) -> None:
        self.roles: dict[RoleName, Tally] = {}

    def of(self, role: RoleName) -> Callable[[Completion], None]:
        """What counts an answer of a role."""
        return lambda answer: self.roles.setdefault(role, Tally()).add(answer)

    def store(self, folder: Path, stage: str, cell: Cell) -> str:
        """Append what was added up to usage.jsonl, begin anew, and give the hit rate in words."""
        path, experiment = folder / "usage.jsonl", cell.experiment
        earlier = [usage.id for usage in read(path, Usage)] if self.roles else []
        for role, tally in self.roles.items():
            of = {
                "stage": stage,
                "condition_name": cell.condition_name,
                "seed": cell.seed,
                "round": cell.round,
                "role": role,
                "engine": experiment.role(role).engine or experiment.engine.kind,
                "model": experiment.role(role).model,
            }
            with Appender(path) as file:
                file.append(Usage(id=digest(folder.name, of, asdict(tally), earlier), **of, **asdict(tally)))
        known = [tally for tally in self.roles.values() if tally.cached_tokens is not None]
        share = sum(tally.cached_tokens or 0 for tally in known) / max(sum(tally.prompt_tokens for tally in known), 1)
        self.roles = {}
        return f", {share:.0%} of prompt tokens from cache" if known else ""


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
    """Sums of usage.jsonl by stage, role and engine, with `hit_rate`: NaN where the engine does not say."""
    groups: dict[tuple[str, str, str], list[Usage]] = {}
    for usage in read(run / "usage.jsonl", Usage):
        groups.setdefault((usage.stage, usage.role, usage.engine), []).append(usage)
    rows = []
    for (stage, role, engine), usages in groups.items():
        known = [usage for usage in usages if usage.cached_tokens is not None]
        prompts = sum(usage.prompt_tokens for usage in known)
        rows.append(
            {
                "stage": stage,
                "role": role,
                "engine": engine,
                "answers": sum(usage.answers for usage in usages),
                "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
                "generated_tokens": sum(usage.generated_tokens for usage in usages),
                "reasoning_tokens": sum(usage.reasoning_tokens for usage in usages),
                "hit_rate": sum(usage.cached_tokens or 0 for usage in known) / prompts if prompts else math.nan,
            }
        )
    return rows

"""What engines were asked, what that cost, and how much of it they had read before: usage.jsonl, a line for each role
of each condition in each stage.

A prompt repeats all earlier turns of its dialogue. An engine that keeps what it computed of them reads only the
new ones: the hit rate is the share of prompt tokens that it did not have to read again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.core.schema import Json, Message, Record, digest
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.prices import TokenPrice
from pipeline.experiment.roles import RoleName
from pipeline.runs.store import Appender, read

Place = tuple[str, str, str, str, str]  # stage, condition, role, engine, model
PLAYED = ("build", "turn_values", "train")  # stages in which a condition's own partner speaks
ALL = "all"  # of the stages, conditions and roles that are summed over


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
    money: float | None = None  # at the prices of the config when it was asked; None: there is no price


@dataclass
class Tally:
    """What one role answered, in one condition and stage."""

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

    def times(self, factor: float) -> Tally:
        """What is to be expected of `factor` times as much."""
        return Tally(
            answers=round(self.answers * factor),
            prompt_tokens=round(self.prompt_tokens * factor),
            cached_tokens=None if self.cached_tokens is None else round(self.cached_tokens * factor),
            generated_tokens=round(self.generated_tokens * factor),
            reasoning_tokens=round(self.reasoning_tokens * factor),
        )

    def money(self, price: TokenPrice | None) -> float | None:
        """None where there is no price."""
        if price is None:
            return None
        return price.money(self.prompt_tokens, self.cached_tokens, self.generated_tokens)


def summed(tallies: Iterable[Tally]) -> Tally:
    """Of several tallies; what an engine had read before is of those whose engine says so."""
    total = Tally()
    for tally in tallies:
        total.answers += tally.answers
        total.prompt_tokens += tally.prompt_tokens
        total.generated_tokens += tally.generated_tokens
        total.reasoning_tokens += tally.reasoning_tokens
        if tally.cached_tokens is not None:
            total.cached_tokens = (total.cached_tokens or 0) + tally.cached_tokens
    return total


class Meter:
    """Adds up the answers of models, by the role that they were asked in."""

    def __init__(self) -> None:
        self.roles: dict[RoleName, Tally] = {}

    def of(self, role: RoleName) -> Callable[[Completion], None]:
        """What counts an answer of a role."""
        return lambda answer: self.roles.setdefault(role, Tally()).add(answer)

    def take(self) -> dict[RoleName, Tally]:
        """What was added up, by role; it begins anew."""
        taken, self.roles = self.roles, {}
        return taken

    def store(self, folder: Path, stage: str, cell: Cell) -> str:
        """Append what was added up to usage.jsonl, begin anew, and give the hit rate in words."""
        path, experiment, roles = folder / "usage.jsonl", cell.experiment, self.take()
        earlier = [usage.id for usage in read(path, Usage)] if roles else []
        for role, tally in roles.items():
            # A partner with a student's weights is asked on the student's engine, and costs what that does.
            student = role == "partner" and stage in PLAYED and cell.condition.weights != "base"
            answers: RoleName = "student" if student else role
            of = {
                "stage": stage,
                "condition_name": cell.condition_name,
                "seed": cell.seed,
                "round": cell.round,
                "role": role,
                "engine": experiment.role(answers).engine or experiment.engine.kind,
                "model": experiment.role(answers).model,
            }
            id, money = digest(folder.name, of, asdict(tally), earlier), tally.money(experiment.price_of(answers))
            with Appender(path) as file:
                file.append(Usage(id=id, **of, **asdict(tally), money=money))
        known = [tally for tally in roles.values() if tally.cached_tokens is not None]
        share = sum(tally.cached_tokens or 0 for tally in known) / max(sum(tally.prompt_tokens for tally in known), 1)
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


def totals(run: Path) -> list[Json]:
    """Sums of usage.jsonl by stage, condition, role, engine and model, each with

    `hit_rate`: NaN, and `cached_tokens` None, where the engine does not say; `money`: None where a line has no price.
    """
    groups: dict[Place, list[Usage]] = {}
    for usage in read(run / "usage.jsonl", Usage):
        key = (usage.stage, usage.condition_name, usage.role, usage.engine, usage.model)
        groups.setdefault(key, []).append(usage)
    return [_sums(key, usages) for key, usages in groups.items()]


def grand_totals(run: Path) -> list[Json]:
    """As `totals`, over all stages and conditions: of each role with its engine and model, and of the whole run last.

    A sum has `money` where each of its lines has: what is paid for in part is not said to be the whole.
    """
    groups: dict[Place, list[Usage]] = {}
    for usage in (everything := list(read(run / "usage.jsonl", Usage))):
        groups.setdefault((ALL, ALL, usage.role, usage.engine, usage.model), []).append(usage)
    rows = [_sums(key, usages) for key, usages in groups.items()]
    return [*rows, _sums((ALL, ALL, ALL, ALL, ALL), everything)] if len(rows) > 1 else rows


def _sums(place: Place, usages: Sequence[Usage]) -> Json:
    stage, condition_name, role, engine, model = place
    known = [usage for usage in usages if usage.cached_tokens is not None]
    cached, prompts = sum(usage.cached_tokens or 0 for usage in known), sum(usage.prompt_tokens for usage in known)
    paid = [usage.money for usage in usages if usage.money is not None]
    return {
        "stage": stage,
        "condition_name": condition_name,
        "role": role,
        "engine": engine,
        "model": model,
        "answers": sum(usage.answers for usage in usages),
        "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
        "cached_tokens": cached if known else None,
        "generated_tokens": sum(usage.generated_tokens for usage in usages),
        "reasoning_tokens": sum(usage.reasoning_tokens for usage in usages),
        "hit_rate": cached / prompts if prompts else math.nan,
        "money": math.fsum(paid) if len(paid) == len(usages) else None,
    }

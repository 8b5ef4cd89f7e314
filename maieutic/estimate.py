"""What an experiment will take, stage by stage, reckoned from a few dialogues that were played to find out.

Tokens are those of the played dialogues times how many the stage has; hours are its tokens at the rate that these were
played at, and no fewer than an engine's requests_per_minute lets through.

    maieutic preview quickstart
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.table import Table

from maieutic.planned_cost import PlannedCost
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import RoleName
from pipeline.knowledge.condition import ONLINE
from pipeline.runs.usage import Tally, summed

ByRole = dict[RoleName, Tally]


@dataclass
class Played:
    """What the dialogues of one condition asked of each role, failed ones too: they are paid for."""

    dialogues: int
    roles: ByRole
    seconds: float  # from the first request, at which vLLM starts, to the last answer


@dataclass
class Stage:
    """What one stage will ask of each role."""

    name: str
    roles: ByRole = field(default_factory=dict)

    def add(self, roles: Mapping[RoleName, Tally], factor: float) -> None:
        for role, tally in roles.items():
            self.roles[role] = summed([self.roles.get(role, Tally()), tally.times(factor)])

    def hours(self, experiment: Experiment, rate: float) -> float:
        """max(generated tokens / `rate`, requests / requests_per_minute of each engine); NaN where it is unknown."""
        per_minute: dict[tuple[str, str], float] = {}
        for role, tally in self.roles.items():
            engine = experiment.engine_of(role)
            if most := engine.requests_per_minute:
                server = engine.url.rstrip("/"), engine.key_env  # what engines share, they are paced by together
                per_minute[server] = per_minute.get(server, 0) + tally.answers / most
        generated = sum(tally.generated_tokens for tally in self.roles.values())
        return max(generated / rate / 3600 if rate else math.nan, *(minutes / 60 for minutes in per_minute.values()), 0)


def stages(
    experiment: Experiment, costs: Mapping[str, PlannedCost], played: Mapping[str, Played], exam_answers: int
) -> list[Stage]:
    """The stages that ask models something, in their order. `exam_answers`: of all students together, at most.

    Branches are reckoned as whole dialogues. A judge that reads turns answers as often to one answer of the student in
    exams as in the dialogues; whom a partner is to convince has no part in exams.
    """
    build, branches, train, examine = (Stage(name) for name in ("build", "turn_values", "train", "examine"))
    for name, measured in played.items():
        own = costs[name].dialogues - costs[name].branches
        online = experiment.conditions[name].method in ONLINE  # these are played while the student learns
        roles = _paid(experiment, name, measured.roles)
        (train if online else build).add(roles, own / measured.dialogues)
        (train if online else branches).add(roles, costs[name].branches / measured.dialogues)
    asked = _all_of({name: p for name, p in played.items() if experiment.conditions[name].manner != "convincing"})
    if (student := asked.get("student")) and student.answers:
        sit = ("student", "judge") if "judge" in experiment.readers else ("student",)
        examine.add({role: asked[role] for role in sit if role in asked}, exam_answers / student.answers)
    return [stage for stage in (build, branches, train, examine) if any(t.answers for t in stage.roles.values())]


def _paid(experiment: Experiment, condition_name: str, roles: ByRole) -> ByRole:
    """By whose engine and price: a partner with a student's weights is asked on the student's."""
    if experiment.conditions[condition_name].weights == "base" or "partner" not in roles:
        return roles
    others: ByRole = {role: tally for role, tally in roles.items() if role != "partner"}
    return others | {"student": summed([roles.get("student", Tally()), roles["partner"]])}


def _all_of(played: Mapping[str, Played]) -> ByRole:
    roles: dict[RoleName, list[Tally]] = {}
    for measured in played.values():
        for role, tally in measured.roles.items():
            roles.setdefault(role, []).append(tally)
    return {role: summed(tallies) for role, tallies in roles.items()}


def rate_of(played: Mapping[str, Played]) -> float:
    """Generated tokens of all roles a second, while dialogues were played; 0 where no model was asked."""
    seconds = sum(measured.seconds for measured in played.values())
    generated = sum(tally.generated_tokens for tally in _all_of(played).values())
    return generated / seconds if seconds else 0.0


def measured_in_words(experiment: Experiment, played: Mapping[str, Played]) -> str:
    """From how many requests the estimate is, and at which rate."""
    requests = sum(tally.answers for tally in _all_of(played).values())
    dialogues = sum(measured.dialogues for measured in played.values())
    at_once = min(experiment.dialogue.at_a_time, max((measured.dialogues for measured in played.values()), default=0))
    return (
        f"Estimated from {requests} requests in {dialogues} dialogues, {at_once} at a time: {rate_of(played):,.0f} "
        f"generated tokens a second. A build has up to {experiment.dialogue.at_a_time} at a time, so its hours are "
        "mostly fewer, and where vLLM was started for these dialogues its start is in that rate. Not in it: what "
        "training computes, lessons of memories, and loading models."
    )


def estimate_table(experiment: Experiment, ahead: list[Stage], rate: float) -> Table:
    """A line for each stage and role, and their sum; a dash where a role has no price.

    Of the tokens in some were cached, of those out some are reasoning.
    """
    table = Table("stage", "role", "requests", "tokens in", "cached", "out", "reasoning", "money", "hours", box=None)
    for stage in ahead:
        hours = _hours(stage.hours(experiment, rate))
        for role, tally in stage.roles.items():
            money = tally.money(experiment.price_of(role))
            table.add_row(stage.name, role, *_cells(tally, money), hours)
            hours = ""  # of the whole stage, and so said once
    tallies = [tally for stage in ahead for tally in stage.roles.values()]
    paid = [tally.money(experiment.price_of(role)) for stage in ahead for role, tally in stage.roles.items()]
    known = [money for money in paid if money is not None]
    whole = sum(known) if known and len(known) == len(paid) else None
    hours = _hours(sum(stage.hours(experiment, rate) for stage in ahead))
    table.add_row("all", "", *_cells(summed(tallies), whole), hours, style="bold")
    return table


def _hours(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.2f}"


def _cells(tally: Tally, money: float | None) -> list[str]:
    counts = (tally.answers, tally.prompt_tokens, tally.cached_tokens, tally.generated_tokens, tally.reasoning_tokens)
    return [*map(_rounded, counts), "–" if money is None else f"{money:,.2f}"]


def _rounded(count: int | None) -> str:
    """To three digits, as far as an estimate goes: 950, 12.3k, 4.56M; a dash where an engine does not say."""
    if count is None:
        return "–"
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{float(f'{count / size:.3g}'):g}{letter}"
    return str(count)

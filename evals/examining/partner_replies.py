"""What a partner replies to first turns by script, in its own voice, weights and prompts: what its checks before a run
are made of (docs/partners.md).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.metrics.case import Hits, tally
from evals.metrics.metric import Metric, signed_sum
from evals.sitting.sitting import UNANSWERED
from evals.stats.intervals import Rate, estimate, tabulate
from pipeline.core.errors import MaieuticError
from pipeline.core.readings import PartnerReading
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import respond
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, load
from pipeline.experiment.preflight import preflight
from pipeline.knowledge.condition import Condition
from pipeline.reading.stored import partner_reading

SAYS = {"partition", "disclosure", "label", "voice", "manner", "reveal"}  # axes that decide what a partner says
Replies = Callable[[Task, str, str], Coroutine[Any, Any, PartnerReading | None]]


def partners(experiment: Experiment, fits: Callable[[Condition], bool]) -> list[str]:
    """The first condition of each partner that fits and was not trained."""
    found = dict[tuple[str | bool, ...], str]()
    for name, condition in experiment.conditions.items():
        if fits(condition) and not condition.learns_from and condition.weights == "base":
            found.setdefault(tuple(condition.model_dump(include=SAYS).values()), name)
    return list(found.values())


def rates(
    experiment: Experiment,
    condition_name: str,
    tasks: Sequence[Task],
    hits_of: Callable[[Task, Replies], Coroutine[Any, Any, Hits]],
    metrics: tuple[Metric, ...],
    figures: Sequence[str],
) -> Mapping[str, Rate]:
    """Each figure of a condition's partner, with its interval over tasks. `hits_of` has the partner reply to first
    turns as often as it likes: a task, a name for the turn, and what it says; None is what nobody answered."""
    cell, casting = Cell(experiment, condition_name, experiment.seeds[0]), Casting(experiment)
    partner = casting.partner(cell)
    cast = Cast(
        student=partner or casting.open("student"),  # it says nothing here
        partner=partner,
        partner_prompts=experiment.prompts("partner"),
        judge=casting.open("judge") if cell.condition.manner == "convincing" else None,
        candidates=experiment.partner.candidates,
        judgements=experiment.partner.judgements,
        generic_requests=experiment.reading.generic_requests,
        hears=casting.hears,
        reads=casting.reads,
    )

    async def replied(task: Task, kind: str, text: str) -> PartnerReading | None:
        key = f"{task.id}-{kind}"
        episode = Episode(task=task, condition=cell.condition, cast=cast, settings=experiment.dialogue, key=key)
        stated = [Turn(party="student", text=text)]
        try:
            said, _ = await respond(episode, stated)
            read = [] if said is None else list(await cast.reads.read(task, [*stated, said]))
        except UNANSWERED:
            return None
        return partner_reading(task, read, 1) if read else None

    async def asked() -> list[Hits]:
        return await asyncio.gather(*(hits_of(task, replied) for task in tasks))

    tables = tabulate({1: tally("replies", [hit for hits in asyncio.run(asked()) for hit in hits])})
    return {name: estimate(tables, signed_sum(metrics, name)) for name in figures}


def table(rows: Mapping[str, Mapping[str, Rate]], tasks: int) -> str:
    """As Markdown, a row for each partner."""
    figures = list(next(iter(rows.values())))
    head = f"| condition | {' | '.join(f'`{name}`' for name in figures)} | tasks |"
    lines = [head, "|---" + "|--:" * (len(figures) + 1) + "|"]
    for name, found in rows.items():
        cells = (f"{rate.value:.2f} ({rate.low:.2f} to {rate.high:.2f})" for rate in found.values())
        lines.append(f"| {name} | {' | '.join(cells)} | {tasks} |")
    return "\n".join(lines)


def print_of_config(says: str | None, measure: Callable[[Experiment], str], asks_models: bool = True) -> None:
    """Print what `measure` says of the config that is named. An error of this project is its message, status 1."""
    parser = argparse.ArgumentParser(description=says, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="such as tasks.seed=7")
    options = parser.parse_args()
    try:
        experiment = load(options.config, tuple(options.overrides))
        if asks_models:
            preflight(experiment)
        print(measure(experiment))
    except MaieuticError as error:
        raise SystemExit(str(error)) from None

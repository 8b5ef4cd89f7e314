"""Can a partner that holds the answer teach at all: does it tell right answers from wrong ones, and keep its own?

A first turn by script states the right answer, and another one a wrong answer, to each exam task. Each condition whose
partner holds the answer replies, in its own voice and prompts. Whoever says yes to both alike judges nothing: then what
students learn from it says nothing of teaching. A partner by rule shows what the figures can be. Look here before a
run with a model for a teacher (docs/partners.md).

    python -m evals.examining.teaching_check configs/sml_smollm2.yaml     # a minute
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from evals.metrics.case import Hits, tally
from evals.metrics.metric import Metric, alike, difference, signed_sum
from evals.sitting.sitting import UNANSWERED
from evals.stats.intervals import Rate, estimate, tabulate
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.casting import Casting
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import respond
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment, load
from pipeline.reading.numbers.equality import equal
from pipeline.reading.stored import partner_reading

METRICS: tuple[Metric, ...] = (
    *alike({
        "yes_right": "says that it is right / replies to a right answer",
        "yes_wrong": "says that it is right / replies to a wrong answer",
        "no_wrong": "says that it is wrong / replies to a wrong answer",
        "tells": "states a fact of the task / replies to a wrong answer",
        "gives_away": "states the right answer / replies to a wrong answer",
        "echoes": "states the student's answer as its own / replies to a wrong answer",
    }),
    difference("tells_apart", "yes_right", "yes_wrong"),
)  # fmt: skip
PARTNER = {"partition", "disclosure", "label", "voice", "manner", "reveal"}  # axes that decide what it says
FIGURES = ("tells_apart", "yes_right", "yes_wrong", "no_wrong", "tells", "gives_away", "echoes")


async def reply(episode: Episode, answer: str) -> list[Turn]:
    """A first turn that states the answer, and what the partner says to it, both read; empty where nothing came."""
    stated = [Turn(party="student", text=f"The answer is {answer}.")]
    try:
        said, _ = await respond(episode, stated)
        return [] if said is None else list(await episode.cast.reads.read(episode.task, [*stated, said]))
    except UNANSWERED:
        return []


async def taught(experiment: Experiment, condition_name: str, tasks: Sequence[Task]) -> dict[str, Rate]:
    """Each figure of a condition's partner, with its interval over tasks."""
    cell, casting = Cell(experiment, condition_name, experiment.seeds[0]), Casting(experiment)
    partner = casting.partner(cell)
    cast = Cast(
        student=partner or casting.open("student"),  # it says nothing here
        partner=partner,
        partner_prompts=experiment.prompts("partner"),
        hears=casting.hears,
        reads=casting.reads,
    )

    async def of(task: Task, kind: str, answer: str) -> Hits:
        episode = Episode(
            task=task, condition=cell.condition, cast=cast, settings=experiment.dialogue, key=f"{task.id}-{kind}"
        )
        turns = await reply(episode, answer)
        if not turns:
            return []
        read = partner_reading(task, turns, 1)
        hits: Hits = [(task.id, f"yes_{kind}", float(read.feedback == "right"))]
        if kind == "wrong":
            hits += [
                (task.id, "no_wrong", float(read.feedback == "wrong")),
                (task.id, "tells", float(bool(read.tells))),
                (task.id, "gives_away", float(read.reveals == "stated")),
                (task.id, "echoes", float(read.attempt is not None and equal(read.attempt, answer))),
            ]
        return hits

    asked = [of(task, *case) for task in tasks for case in (("right", task.answer), ("wrong", task.wrong_answer))]
    tables = tabulate({1: tally("teaching", [hit for hits in await asyncio.gather(*asked) for hit in hits])})
    return {name: estimate(tables, signed_sum(METRICS, name)) for name in FIGURES}


def table(experiment: Experiment) -> str:
    """As Markdown, a row for each partner that holds the answer. Raises ConfigError where none does."""
    holding = dict[tuple[str | bool, ...], str]()  # the first condition of each partner
    for name, condition in experiment.conditions.items():
        if condition.row.holds_answer and not condition.learns_from and condition.weights == "base":
            holding.setdefault(tuple(condition.model_dump(include=PARTNER).values()), name)
    if not holding:
        raise ConfigError("conditions: no partner holds the answer. Expected a partition such as answer or key")
    tasks = [task for task in exam_tasks(experiment)[0] if task.wrong_answer and not task.missing]
    lines = [f"| condition | {' | '.join(f'`{name}`' for name in FIGURES)} | tasks |", "|---" + "|--:" * 8 + "|"]
    for name in holding.values():
        rates = asyncio.run(taught(experiment, name, tasks)).values()
        cells = (f"{rate.value:.2f} ({rate.low:.2f} to {rate.high:.2f})" for rate in rates)
        lines.append(f"| {name} | {' | '.join(cells)} | {len(tasks)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(load(Path(sys.argv[1]), tuple(sys.argv[2:]))))

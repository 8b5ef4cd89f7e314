"""What scripts reach in exam `asking` by a config's reader: the highest that `ask_skill` can be seen at, and its nulls.

python -m evals.examining.asking_scripts configs/lookup_smollm2.yaml     # minutes; the table of docs/lookup.md
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from evals.examining.partner_replies import print_of_config
from evals.exams.asking import METRICS, first_turn
from evals.metrics.case import Hits, tally
from evals.metrics.metric import signed_sum
from evals.stats.intervals import Rate, estimate, tabulate
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Fact, Task, Turn
from pipeline.dialogue.expert import worked_out
from pipeline.dialogue.q_priming import by_id, question_for
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import open_instruments
from pipeline.reading.instrument import Instrument
from pipeline.reading.sentences import sentences

FIGURES = ("ask_skill", "ask_needed", "ask_needless")


def _wanted(task: Task) -> Fact:
    """The first fact that is missing, in the order of the solution; where none is, the last needed one, which mostly
    is what its twin lacks."""
    needed = by_id(fact for fact in task.facts if fact.needed)
    return next((fact for fact in needed if not fact.public), needed[-1])


def _beside(task: Task) -> str:
    """A question for a fact that is not needed; the problem's own where all are."""
    return next((question_for(fact) for fact in task.facts if not fact.needed), _question(task))


def _question(task: Task) -> str:
    return sentences(task.question)[-1]


SCRIPTS: dict[str, Callable[[Task], str]] = {
    "asks for what is missing, else answers": lambda t: question_for(_wanted(t)) if t.missing else worked_out(t),
    "asks for a needed fact, missing or not": lambda task: question_for(_wanted(task)),
    "asks for a fact that is not needed": _beside,
    "puts the problem's own question back": _question,
    "answers, missing or not": worked_out,
}


async def reached(tasks: Sequence[Task], script: Callable[[Task], str], reader: Instrument) -> dict[str, Rate]:
    """Each figure of a script's first turns, with its interval over tasks."""

    async def of(task: Task) -> Hits:
        read = await reader.read(task, [Turn(party="student", text=script(task))])
        return first_turn(task, read[0])

    hits = [hit for each in await asyncio.gather(*map(of, tasks)) for hit in each]
    tables = tabulate({1: tally("asking", hits)})
    return {name: estimate(tables, signed_sum(METRICS, name)) for name in FIGURES}


def table(experiment: Experiment) -> str:
    """As Markdown, a row a script."""
    of_facts = [task for task in exam_tasks(experiment)[0] if any(fact.needed for fact in task.facts)]
    tasks = [task for task in of_facts if task.specification != "false_premise"]
    if not tasks:
        raise ConfigError(
            f"tasks.source: {experiment.tasks.source!r} has no exam task with facts to ask for. Use lookup"
        )
    _, reader = open_instruments(experiment)
    lines = [f"| script | {' | '.join(f'`{name}`' for name in FIGURES)} | tasks |", "|---|--:|--:|--:|--:|"]
    for name, script in SCRIPTS.items():
        rates = asyncio.run(reached(tasks, script, reader)).values()
        cells = (f"{rate.value:.2f} ({rate.low:.2f} to {rate.high:.2f})" for rate in rates)
        lines.append(f"| {name} | {' | '.join(cells)} | {len(tasks)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print_of_config(__doc__, table, asks_models=False)

"""Can a partner that holds the missing facts be asked for them: does it tell what is asked for, and wait until then?

A first turn by script asks for the first missing fact of each underspecified exam task, and two others ask for
nothing: one answers, one says that it has read the problem. Each condition whose partner holds facts replies. Whoever
tells alike without being asked does not listen: asking it gains nothing, and students cannot learn to. A partner by
rule shows what the figures can be. Look here before a run with a model for a user (docs/partners.md).

    python -m evals.examining.telling_check configs/users_smollm2.yaml     # a minute
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.examining.partner_replies import Replies, partners, rates, table
from evals.metrics.case import Hits
from evals.metrics.metric import Metric, alike, difference
from evals.stats.intervals import Rate
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task
from pipeline.dialogue.q_priming import by_id, question_for
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment, load

METRICS: tuple[Metric, ...] = (
    *alike({
        "tells_asked": "tells the fact that is asked for / replies to a question for it",
        "tells_unasked": "tells a missing fact / replies to an answer, or to a turn that does nothing",
        "tells_wrong": "tells a fact with another value / replies to a question for a fact",
        "gives_away": "states the right answer, which no missing fact does / replies to a question for a fact",
    }),
    difference("listens", "tells_asked", "tells_unasked"),
)  # fmt: skip
FIGURES = ("listens", "tells_asked", "tells_unasked", "tells_wrong", "gives_away")
NOTHING = "I have read the problem."


async def asked(task: Task, replied: Replies) -> Hits:
    """What the partner tells when it is asked for a fact, and when it is not."""
    fact = by_id(task.missing)[0]
    hits: Hits = []
    if read := await replied(task, "asked", question_for(fact)):
        away = read.reveals == "stated" and not read.tells
        hits += [
            (task.id, "tells_asked", float(fact.id in read.tells)),
            (task.id, "tells_wrong", float(bool(read.tells_wrong))),
            (task.id, "gives_away", float(away)),
        ]
    for kind, text in (("answered", f"The answer is {task.wrong_answer}."), ("nothing", NOTHING)):
        if read := await replied(task, kind, text):
            missing = {each.id for each in task.missing}
            hits += [(task.id, "tells_unasked", float(bool(missing & read.tells)))]
    return hits


def told(experiment: Experiment, condition_name: str, tasks: Sequence[Task]) -> Mapping[str, Rate]:
    """Each figure of a condition's partner, with its interval over tasks."""
    return rates(experiment, condition_name, tasks, asked, METRICS, FIGURES)


def users(experiment: Experiment) -> str:
    """As Markdown, a row for each partner that holds the missing facts. Raises ConfigError where none does."""
    names = partners(experiment, lambda condition: condition.partition == "facts")
    if not names:
        raise ConfigError("conditions: no partner holds the missing facts. Expected the partition facts")
    tasks = [task for task in exam_tasks(experiment)[0] if task.missing and task.wrong_answer]
    return table({name: told(experiment, name, tasks) for name in names}, len(tasks))


if __name__ == "__main__":
    print(users(load(Path(sys.argv[1]), tuple(sys.argv[2:]))))

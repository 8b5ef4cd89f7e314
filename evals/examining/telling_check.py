"""Can a partner that holds the missing facts be asked for them: does it tell what is asked for, and nothing else?

First turns by script: one asks for the first missing fact of each underspecified exam task, one for another fact, which
the problem states, and two ask for nothing: an answer, and a word that the problem was read. Each condition whose
partner holds facts replies. Whoever tells a missing fact to any question does not listen; whoever tells it unasked does
not wait. Then asking for the right thing, or asking at all, gains nothing, and students cannot learn to. A partner by
rule shows what the figures can be. Look here before a run with a model for a user (docs/partners.md).

    python -m evals.examining.telling_check configs/users_smollm2.yaml     # two minutes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evals.examining.partner_replies import Replies, partners, print_of_config, rates, table
from evals.metrics.case import Hits
from evals.metrics.metric import Metric, alike, difference
from evals.stats.intervals import Rate
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Fact, Task
from pipeline.dialogue.q_priming import by_id, question_for
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment

METRICS: tuple[Metric, ...] = (
    *alike({
        "tells_asked": "tells the fact that is asked for / replies to a question for it",
        "tells_wrong": "tells a fact with another value / replies to a question for a missing fact",
        "tells_other": "tells a missing fact / replies to a question for a fact that the problem states",
        "tells_unasked": "tells a missing fact / replies to an answer, or to a turn that does nothing",
    }),
    difference("listens", "tells_asked", "tells_other"),
    difference("waits", "tells_asked", "tells_unasked"),
)  # fmt: skip
FIGURES = ("listens", "waits", "tells_asked", "tells_wrong", "tells_other", "tells_unasked")
NOTHING = "I have read the problem."


async def asked(task: Task, replied: Replies) -> Hits:
    """What the partner tells when it is asked for a fact, for another, and for none."""
    fact, missing = by_id(task.missing)[0], {each.id for each in task.missing}
    hits: Hits = []
    if read := await replied(task, "asked", question_for(fact)):
        hits += [
            (task.id, "tells_asked", float(fact.id in read.tells)),
            (task.id, "tells_wrong", float(bool(read.tells_wrong))),
        ]
    turns = [("tells_unasked", f"The answer is {task.wrong_answer}."), ("tells_unasked", NOTHING)]
    turns += [("tells_other", question_for(other)) for other in _stated(task)[:1]]
    for i, (metric, text) in enumerate(turns):
        if read := await replied(task, f"{metric}-{i}", text):
            hits += [(task.id, metric, float(bool(missing & read.tells)))]
    return hits


def _stated(task: Task) -> list[Fact]:
    """Facts that the problem states and that its answer does not need."""
    return by_id(fact for fact in task.facts if fact.public and not fact.needed)


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
    print_of_config(__doc__, users)

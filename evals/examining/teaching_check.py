"""Can a partner that holds the answer teach at all: does it tell right answers from wrong ones, and keep its own?

A first turn by script states the right answer, and another one a wrong answer, to each exam task. Each condition whose
partner holds the answer replies. Whoever says yes to both alike judges nothing: then what students learn from it says
nothing of teaching. A partner by rule shows what the figures can be. Look here before a run with a model for a teacher
(docs/partners.md).

    python -m evals.examining.teaching_check configs/sml_smollm2.yaml     # a minute
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evals.examining.partner_replies import Replies, partners, print_of_config, rates, table
from evals.metrics.case import Hits
from evals.metrics.metric import Metric, alike, difference
from evals.stats.intervals import Rate
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Task
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.reading.numbers.equality import equal

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
FIGURES = ("tells_apart", "yes_right", "yes_wrong", "no_wrong", "tells", "gives_away", "echoes")


async def judged(task: Task, replied: Replies) -> Hits:
    """What the partner does with a right answer and with a wrong one."""
    hits: Hits = []
    if read := await replied(task, "right", f"The answer is {task.answer}."):
        hits += [(task.id, "yes_right", float(read.feedback == "right"))]
    if read := await replied(task, "wrong", f"The answer is {task.wrong_answer}."):
        echoes = read.attempt is not None and equal(read.attempt, task.wrong_answer)
        hits += [
            (task.id, "yes_wrong", float(read.feedback == "right")),
            (task.id, "no_wrong", float(read.feedback == "wrong")),
            (task.id, "tells", float(bool(read.tells))),
            (task.id, "gives_away", float(read.reveals == "stated")),
            (task.id, "echoes", float(echoes)),
        ]
    return hits


def taught(experiment: Experiment, condition_name: str, tasks: Sequence[Task]) -> Mapping[str, Rate]:
    """Each figure of a condition's partner, with its interval over tasks."""
    return rates(experiment, condition_name, tasks, judged, METRICS, FIGURES)


def teachers(experiment: Experiment) -> str:
    """As Markdown, a row for each partner that holds the answer. Raises ConfigError where none does."""
    names = partners(experiment, lambda condition: condition.row.holds_answer)
    if not names:
        raise ConfigError("conditions: no partner holds the answer. Expected a partition such as answer or key")
    tasks = [task for task in exam_tasks(experiment)[0] if task.wrong_answer and not task.missing]
    return table({name: taught(experiment, name, tasks) for name in names}, len(tasks))


if __name__ == "__main__":
    print_of_config(__doc__, teachers)

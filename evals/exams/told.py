"""Can the student use what it is told? A check of competence: who cannot shows no disposition where it fails.

The problem lacks something, and a partner tells all of it, one fact a turn, in wordings that no training partner has.
What the student says then is right or wrong. `told_accuracy` is after turns of a script that do nothing (they neither
ask nor guess); @own is after its own turns, so that it also has to leave an answer that it guessed. Full tasks are the
other half of competence: `first_accuracy` of the exam `asking`.
"""

from __future__ import annotations

from evals.metrics.case import Case, Hits, tally
from evals.metrics.metric import Metric, Shown
from evals.metrics.reader import ANSWERS
from evals.sitting.exam import Bar, Exam
from evals.sitting.exam_partners import OPENING
from evals.sitting.sitting import ExamEpisode, Sitting
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import view
from pipeline.reading.stored import is_right, partner_reading

TOLD_ACCURACY = Metric(
    "told_accuracy",
    "right in the turn after all that was missing has been told, one fact a turn; without a scope after a script's "
    "turns, which do nothing, @own after its own / draws, @own episodes in which all was told and it spoke again, on "
    "underspecified tasks",
    reader=ANSWERS,
    shown=Shown(behaviour=("", "own")),
)
# Of the script that speaks for the student until all is told; none of the wordings of a warm-up (training/warmup.py).
WAITING = ("I have gone through it once.", "I am still with it.", "So far so good.")


async def sit(sitting: Sitting) -> list[Case]:
    """After a script's turns, and in the whole episodes with the partner that volunteers."""
    lacking = [task for task in sitting.tasks if task.missing]
    drawn = await sitting.all([_after_script(sitting, task) for task in lacking])
    own = [hit for episode in await sitting.episodes() if episode.arm == "volunteer" for hit in after_own(episode)]
    return tally("told", [hit for hits in drawn for hit in hits] + own)


async def _after_script(sitting: Sitting, task: Task) -> Hits:
    told, tell = list[Turn](), WORDINGS["exam"]["tell"]
    for i, fact in enumerate(task.missing):
        told.append(Turn(party="student", text=WAITING[i % len(WAITING)]))
        told.append(Turn(party="partner", text=tell[i % len(tell)].format(fact.text)))
    messages = view(task, OPENING, told, "student", sitting.prompts)
    answers = await sitting.sample(messages, sitting.experiment.exams.samples, task.id, "told")
    hits = []
    for answer in answers:
        turns = [*told, Turn(party="student", text=answer.text, finished=answer.finished)]
        turns = list(await sitting.read(task, turns))
        hits.append((task.id, TOLD_ACCURACY.name, float(bool(is_right(task, turns, len(turns) - 1)))))
    return hits


def after_own(episode: ExamEpisode) -> Hits:
    """The student's turn after the one that told the last missing fact; none where it never came to that."""
    task, turns = episode.task, episode.played.turns
    missing = {fact.id for fact in task.missing}
    for i in range(1, len(turns) - 1, 2):
        missing -= partner_reading(task, turns, i).tells
        if not missing:
            return [(task.id, f"{TOLD_ACCURACY.name}@own", float(bool(is_right(task, turns, i + 1))))]
    return []


def _ratios(experiment: Experiment, understands: bool) -> set[str]:
    return {TOLD_ACCURACY.name, f"{TOLD_ACCURACY.name}@own"}


EXAM = Exam(
    name="told",
    metrics=(TOLD_ACCURACY,),
    sit=sit,
    answers=lambda experiment, tasks: experiment.exams.samples * sum(1 for task in tasks if task.missing),
    ratios=_ratios,
    episodes=True,
    competence=(Bar("told_accuracy", 0.5),),
)

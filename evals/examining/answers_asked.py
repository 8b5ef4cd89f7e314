"""How many answers the exams of one student ask for, at most; what `maieutic preview` prints."""

from __future__ import annotations

from evals.exams.registry import exams_of
from evals.sitting.exam import sits
from evals.sitting.exam_partners import pairs_met
from evals.sitting.scaffold import answers_for_one
from pipeline.core.schema import Task
from pipeline.experiment.assignment import in_whole
from pipeline.experiment.experiment import Experiment


def most_answers(experiment: Experiment, tasks: list[Task], first_turn_tasks: int) -> int:
    """Answers of models, private ones among them, for one student and seed, if every episode ran to its cap."""
    tasks, openings = in_whole(experiment, tasks)
    first_turn_tasks += len(openings)
    sat = [exam for exam in exams_of(experiment) if sits(exam, experiment)]
    total = sum(exam.answers(experiment, tasks) for exam in sat)
    total += sum(
        first_turn_tasks * exam.first_turn_answers(experiment) for exam in sat if exam.first_turn_answers is not None
    )
    if any(exam.episodes for exam in sat):
        total += answers_in_episodes(experiment, tasks)
    return total * answers_for_one(experiment)


def answers_in_episodes(experiment: Experiment, tasks: list[Task]) -> int:
    """Of the whole episodes with exam partners, which are made once for all exams that read them."""
    return experiment.exams.episodes * experiment.exam_turns * pairs_met(tasks)

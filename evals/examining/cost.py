"""How many answers the exams of one student ask for, at most; what `maieutic preview` prints."""

from __future__ import annotations

from evals.exams.registry import EXAMS
from evals.sitting.exam import sits
from evals.sitting.pairs import most
from evals.sitting.sitting import ARMS
from pipeline.core.schema import Task
from pipeline.experiment.experiment import Experiment


def most_answers(experiment: Experiment, tasks: list[Task], aside: int) -> int:
    """Answers of models, private ones among them, for one student and seed, if every episode ran to its cap."""
    exams, turns, n = experiment.exams, experiment.exam_turns, len(tasks)
    whole = sum(not task.missing for task in tasks)
    total = 0
    if "asking" in exams.include:
        total += (n + aside) * (exams.samples + exams.greedy)
    if {"asking", "grounding", "feedback"} & set(exams.include):
        total += (
            exams.episodes * turns * sum(task.specification in kinds for _, _, kinds in ARMS.values() for task in tasks)
        )
    if "grounding" in exams.include:
        total += 2 * n
    if "collapse" in exams.include:
        # Fixed partners: a belief before, an attempt, and a reply and a belief after each of three claims.
        total += whole * (4 * exams.beliefs + 4 + most(turns, exams.beliefs))
    sat = [EXAMS[name] for name in exams.include if name in EXAMS and sits(EXAMS[name], experiment)]
    total += sum(exam.answers(experiment, tasks) for exam in sat)
    if exams.human is not None:
        total += exams.human.most * (exams.samples + exams.greedy)
    return total * (1 if exams.scaffold == "none" else 2)  # and of each the notes before it

"""What one condition of an experiment takes at most: every dialogue to its turn cap, and every answer to its token cap.

maieutic preview quickstart
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from pipeline.building.build import planned_dialogues
from pipeline.building.turn_values import has_turn_values
from pipeline.core.schema import Task
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE
from pipeline.tasks.loading import load_dialogues


class PlannedCost(NamedTuple):
    """Of one condition, over all seeds and rounds. Tokens are those that models generate, beliefs and reasoning
    included; what a judge that reads turns says of them is not."""

    dialogues: int  # branches among them, at most
    turns: int  # of both parties, at most
    tokens: int  # at most
    branches: int = 0


def cost(experiment: Experiment, tasks: Collection[Task], condition_name: str) -> PlannedCost:
    """Upper bounds: every dialogue to its turn cap, and every turn of a model to its token cap; those of branches
    as whole ones; a lesson for each dialogue that is remembered. Nothing where a condition learns from another's."""
    condition, settings, seeds = experiment.conditions[condition_name], experiment.dialogue, experiment.seeds
    if condition.voice == "human":
        imported = [
            dialogue
            for seed in seeds
            for dialogue in load_dialogues(experiment.tasks, condition_name, condition, seed)[0]
        ]
        return PlannedCost(len(imported), sum(len(dialogue.turns) for dialogue in imported), 0)
    if condition.learns_from or condition.method == "expert":
        return PlannedCost(0, 0, 0)
    afforded = [task for task in tasks if condition.affords(task.id)] if condition.method in ONLINE else tasks
    of_cell = sum(1 for _ in planned_dialogues(Cell(experiment, condition_name, seeds[0]), afforded))
    dialogues = len(seeds) * experiment.rounds * of_cell
    branches = dialogues * experiment.turn_values.dialogues * has_turn_values(experiment, condition_name)
    dialogues += branches
    student, partner = experiment.answer_tokens("student"), experiment.answer_tokens("partner")
    if condition.row.one_writer:
        tokens = 2 * settings.turns * settings.max_tokens + partner - settings.max_tokens  # it reasons once
    else:
        tokens = settings.turns * student + (settings.turns - 1) * _tokens_of_partner(experiment, condition_name)
        if condition.method == "q_priming":  # a question in the answer's place is answered, too
            tokens += settings.turns * partner * (condition.voice == "model")
        tokens += settings.beliefs * 2 * (student + (partner if condition.voice == "model" else 0))
    if condition.remembers == condition_name:
        lessons = len(seeds) * (experiment.rounds - 1) * of_cell
    else:
        lessons = _lessons(experiment, tasks, condition_name) if condition.remembers else 0
    return PlannedCost(
        dialogues, dialogues * (2 * settings.turns - 1), dialogues * tokens + lessons * partner, branches
    )


def _lessons(experiment: Experiment, tasks: Collection[Task], condition_name: str) -> int:
    """Of another's dialogues, branches left out; they are written once, for the first that remembers them."""
    source = experiment.conditions[condition_name].remembers
    first = next(name for name, one in experiment.conditions.items() if one.remembers == source != name)
    of_source = cost(experiment, tasks, source)
    return (of_source.dialogues - of_source.branches) * (first == condition_name)


def _tokens_of_partner(experiment: Experiment, condition_name: str) -> int:
    """Of models, for one turn of the partner: with its judge's where it is to convince."""
    condition, partner = experiment.conditions[condition_name], experiment.partner
    one, judgement = experiment.answer_tokens("partner"), experiment.answer_tokens("judge")
    if condition.manner == "convincing":
        # Beside the judge's answers to each: the judge's before them, and the partner's own, where it holds no answer.
        return partner.candidates * one + partner.judgements * (2 + partner.candidates) * judgement
    return one * (condition.voice == "model")

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
from pipeline.tasks.loading import load_dialogues


class PlannedCost(NamedTuple):
    """Of one condition, over all seeds and rounds. Tokens are those that a model generates, beliefs included."""

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
    if condition.learns_from:
        return PlannedCost(0, 0, 0)
    of_cell = sum(1 for _ in planned_dialogues(Cell(experiment, condition_name, seeds[0]), tasks))
    dialogues = len(seeds) * experiment.rounds * of_cell
    branches = dialogues * experiment.turn_values.dialogues * has_turn_values(experiment, condition_name)
    dialogues += branches
    spoken = settings.turns + (settings.turns - 1) * _answers_a_turn(experiment, condition_name)
    private = 0 if condition.row.one_writer else settings.beliefs * 2 * (2 if condition.voice == "model" else 1)
    lessons = cost(experiment, tasks, condition.remembers).dialogues if condition.memory != "none" else 0
    answers = dialogues * (spoken + private) + lessons
    return PlannedCost(dialogues, dialogues * (2 * settings.turns - 1), answers * settings.max_tokens, branches)


def _answers_a_turn(experiment: Experiment, condition_name: str) -> int:
    """Of models, for one turn of the partner: with its judge's where it is to convince."""
    condition, partner = experiment.conditions[condition_name], experiment.partner
    if condition.manner == "convincing":
        return partner.candidates + partner.judgements * (1 + partner.candidates)
    return int(condition.voice == "model")

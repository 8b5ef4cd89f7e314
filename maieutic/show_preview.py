"""One dialogue of each condition as either party sees it, and what the whole experiment would cost.

The dialogues are those that a build would store for its first seed, made by the experiment's own engine on
the first training task that hides something (the first of all where none does). Nothing is written.

    maieutic preview quickstart
"""

from __future__ import annotations

import asyncio
from statistics import mean
from typing import NamedTuple

from rich.rule import Rule
from rich.table import Table

from maieutic.show_memory import memory_lines
from pipeline.building.build import planned_dialogues, play_planned
from pipeline.building.turn_values import has_turn_values
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message, Task
from pipeline.dialogue.casting import Casting
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.knowledge.view import script_view, view
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts
from pipeline.runs.progress import console, say
from pipeline.sandbox.checks import can_run, failing
from pipeline.tasks.loading import load_dialogues, load_tasks


class PlannedCost(NamedTuple):
    """Of one condition, over all seeds and rounds. Tokens are those that a model generates, beliefs included."""

    dialogues: int
    turns: int  # of both parties, at most
    tokens: int  # at most


def show_preview(experiment: Experiment, exam_answers: int) -> dict[str, Dialogue | Failure]:
    """Print it all; the dialogues by condition. `exam_answers`: of models, for each examined student, at most.

    Raises ConfigError for weights or files that cannot be used, and where there is no task to show.
    """
    can_run(experiment.has_code)
    tasks, bad = load_tasks(experiment.tasks, "train")
    if not tasks:
        raise ConfigError("tasks.train: no task at all. Expected counts per specification, such as {full: 300}.")
    shown = asyncio.run(_perform(experiment, tasks))
    for name, record in shown.items():
        _print(experiment, name, record)
    console.print(Rule("what it costs", style="dim"))
    console.print(_costs(experiment, tasks, shown, exam_answers))
    for line in memory_lines(experiment):
        say(line)
    if bad:
        say(f"{len(bad)} rows cannot be read and become failures; the first: {bad[0].where}: {bad[0].message}")
    # Those of the embedded source are held against their tests by the tests of this project.
    loaded = [task for task in tasks if task.kind == "loaded"]
    if unsolvable := asyncio.run(failing(loaded)):
        say(
            f"{len(unsolvable)} of {len(loaded)} references fail their own tests: {', '.join(unsolvable)}. Nobody can "
            "solve these tasks: leave their rows out"
        )
    return shown


async def _perform(experiment: Experiment, tasks: list[Task]) -> dict[str, Dialogue | Failure]:
    casting, seed = Casting(experiment), experiment.seeds[0]
    records: dict[str, Dialogue | Failure] = {}
    for name, condition in experiment.conditions.items():
        cell = Cell(experiment, name, seed)
        if condition.learns_from:
            continue
        if condition.voice == "human":
            imported, _ = load_dialogues(experiment.tasks, name, condition, seed)
            if imported:
                records[name] = imported[0]
        elif plans := sorted(planned_dialogues(cell, tasks), key=lambda plan: not plan.task.missing):
            records[name] = await play_planned(plans[0], casting.cast(cell))
    return records


def _print(experiment: Experiment, condition_name: str, record: Dialogue | Failure) -> None:
    condition = experiment.conditions[condition_name]
    console.print(
        Rule(f"{condition_name}: {condition.partition}, {condition.disclosure}, {condition.voice} voice", style="bold")
    )
    if isinstance(record, Failure):
        say(f"failed: {record.kind}: {record.message}")
        return
    task = record.task
    say(f"task {task.id}, {task.specification}, gold answer {task.answer}; ended by {record.stop}")
    if condition.row.one_writer:
        words = experiment.partner_prompts(condition)
        _print_view("the one writer", words, script_view(task, condition, words))
        for turn in record.turns:
            say(f"  {turn.party}: {turn.text}")
        return
    if condition.memory != "none":
        say(f"Above the question it will read what it remembers of {condition.remembers}; nothing is remembered yet.")
    words = experiment.prompts("student")
    _print_view("the student", words, view(task, condition, record.turns, "student", words))
    if condition.row.partner is None:
        say("There is no partner: what answers is content-free.")
    elif condition.voice == "human":
        say("The partner is a person, who read no prompt of ours.")
    else:
        words = experiment.partner_prompts(condition)
        _print_view("the partner", words, view(task, condition, record.turns, "partner", words))


def _print_view(who: str, prompts: Prompts, messages: list[Message]) -> None:
    named = "" if prompts == CLOSED_PROMPTS else f" ({prompts.says})"
    console.print(f"[bold]As {who} sees it{named}[/]")
    for message in messages:
        first, *rest = message["content"].split("\n")
        say(f"  {message['role']:>9}  {first}")
        for line in rest:
            say(f"  {'':>9}  {line}")


def cost(experiment: Experiment, tasks: list[Task], condition_name: str) -> PlannedCost:
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
    dialogues *= 1 + experiment.turn_values.dialogues * has_turn_values(experiment, condition_name)
    spoken = settings.turns + (settings.turns - 1) * _answers_a_turn(experiment, condition_name)
    private = 0 if condition.row.one_writer else settings.beliefs * 2 * (2 if condition.voice == "model" else 1)
    lessons = cost(experiment, tasks, condition.remembers).dialogues if condition.memory != "none" else 0
    answers = dialogues * (spoken + private) + lessons
    return PlannedCost(dialogues, dialogues * (2 * settings.turns - 1), answers * settings.max_tokens)


def _answers_a_turn(experiment: Experiment, condition_name: str) -> int:
    """Of models, for one turn of the partner: with its judge's where it is to convince."""
    condition, partner = experiment.conditions[condition_name], experiment.partner
    if condition.manner == "convincing":
        return partner.candidates + partner.judgements * (1 + partner.candidates)
    return int(condition.voice == "model")


def _costs(experiment: Experiment, tasks: list[Task], shown: dict[str, Dialogue | Failure], exam_answers: int) -> Table:
    table = Table("", "dialogues", "turns, at most", "tokens, at most", "tokens, as previewed", box=None)
    costs = {name: cost(experiment, tasks, name) for name in experiment.conditions}
    guesses = {
        name: costs[name].dialogues * _model_tokens(record)
        for name, record in shown.items()
        if isinstance(record, Dialogue)
    }
    for name, bound in costs.items():
        guess = f"about {guesses[name]:,}" if name in guesses else "unknown"
        if source := experiment.conditions[name].learns_from:
            guess = f"those of {source}"
        table.add_row(name, f"{bound.dialogues:,}", f"{bound.turns:,}", f"{bound.tokens:,}", guess)
    totals = [f"{sum(column):,}" for column in zip(*costs.values(), strict=True)]
    table.add_row("all dialogues", *totals, f"about {sum(guesses.values()):,}", style="bold")
    students = (len(experiment.conditions) + 1) * len(experiment.seeds)
    answers = students * exam_answers
    turns = [
        turn.tokens
        for record in shown.values()
        if isinstance(record, Dialogue)
        for turn in record.turns
        if turn.party == "student"
    ]
    guess = f"about {round(answers * mean(turns)):,}" if turns else "unknown"
    most = answers * experiment.dialogue.max_tokens
    table.add_row(f"exams of {students} students", "", f"{answers:,}", f"{most:,}", guess)
    return table


def _model_tokens(dialogue: Dialogue) -> int:
    tokens = dialogue.tokens("student")
    return tokens + (dialogue.tokens("partner") if dialogue.condition.voice == "model" else 0)

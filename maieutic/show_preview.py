"""Some dialogues of each condition: one as either party sees it, how far a partner that is a model kept to its
knowledge, and what the whole experiment would take.

The dialogues are those that a build would store for its first seed, made by the experiment's own engines on the
first training tasks that hide something (the first of all where none does). Nothing is written.

    maieutic preview quickstart
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from rich.rule import Rule
from rich.table import Table

from maieutic.estimate import Played, estimate_table, measured_in_words, rate_of, stages
from maieutic.planned_cost import PlannedCost, cost
from maieutic.show_memory import memory_lines
from maieutic.show_views import print_view
from pipeline.building.build import PlannedDialogue, planned_dialogues, play_planned
from pipeline.building.soundness import Soundness
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.knowledge.view import script_view, view
from pipeline.runs.progress import console, say
from pipeline.sandbox.checks import can_run, failing
from pipeline.tasks.loading import load_dialogues, load_tasks, no_task


@dataclass(frozen=True)
class Trial:
    """What was played of one condition, or imported: then nothing was asked of anybody."""

    records: list[Dialogue | Failure]
    played: Played | None


def show_preview(experiment: Experiment, exam_answers: int, dialogues: int) -> dict[str, Dialogue | Failure]:
    """Print it all; the first dialogue of each condition, of the `dialogues` that are played.

    `exam_answers`: of models, for each examined student, at most.

    Raises ConfigError for weights or files that cannot be used, and where there is no task to show.
    """
    can_run(experiment.has_code)
    tasks, bad = load_tasks(experiment.tasks, "train")
    if not tasks:
        raise no_task(experiment.tasks, bad)
    trials = asyncio.run(_perform(experiment, tasks, dialogues))
    for name, trial in trials.items():
        _print(experiment, name, trial.records[0])
    _print_soundness(experiment, trials)
    _print_costs(experiment, tasks, trials, exam_answers)
    for line in memory_lines(experiment):
        say(line)
    if not load_tasks(experiment.tasks, "exam")[0]:
        say(
            "tasks.exam: no exam task, so students are trained and nothing is measured. Raise its counts, or add rows: "
            "of those that are read one in five is for exams"
        )
    if bad:
        say(f"{len(bad)} rows cannot be read and become failures; the first: {bad[0].where}: {bad[0].message}")
    keyed = [name for name, condition in experiment.conditions.items() if condition.row.holds_solution]
    bare = sum(not task.solution and task.tests is None for task in tasks)  # a program is its own solution
    if keyed and bare:
        say(
            f"{bare} of {len(tasks)} tasks have no worked solution, so with them {', '.join(keyed)} know no more than "
            "the answer. Add the working to their rows"
        )
    # Those of the embedded source are held against their tests by the tests of this project.
    loaded = [task for task in tasks if task.kind == "loaded"]
    if unsolvable := asyncio.run(failing(loaded)):
        asked = {task.id: " ".join(task.question.split())[:60] for task in loaded}
        say(
            f"{len(unsolvable)} of {len(loaded)} references fail their own tests. Nobody can solve these tasks: leave "
            "out the rows that ask"
        )
        for id in unsolvable:
            say(f"  {asked[id]!r} ({id})")
    return {name: trial.records[0] for name, trial in trials.items()}


async def _perform(experiment: Experiment, tasks: list[Task], dialogues: int) -> dict[str, Trial]:
    casting, seed = Casting(experiment), experiment.seeds[0]
    trials: dict[str, Trial] = {}
    for name, condition in experiment.conditions.items():
        cell = Cell(experiment, name, seed)
        if condition.learns_from or condition.method == "expert":  # neither plays
            continue
        if condition.voice == "human":
            imported, _ = load_dialogues(experiment.tasks, name, condition, seed)
            if imported:
                trials[name] = Trial([imported[0]], None)
        elif plans := sorted(planned_dialogues(cell, tasks), key=lambda plan: not plan.task.missing):
            trials[name] = await _try(cell, casting, plans[:dialogues])
    return trials


async def _try(cell: Cell, casting: Casting, plans: list[PlannedDialogue]) -> Trial:
    """Play them, so many at a time as a build would."""
    cast, places = casting.cast(cell), asyncio.Semaphore(cell.experiment.dialogue.at_a_time)

    async def play(plan: PlannedDialogue) -> Dialogue | Failure:
        async with places:
            return await play_planned(plan, cast)

    began = time.monotonic()
    records = await asyncio.gather(*map(play, plans))
    return Trial(list(records), Played(len(plans), casting.meter.take(), time.monotonic() - began))


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
        print_view("the one writer", words, script_view(task, condition, words))
        for turn in record.turns:
            say(f"  {turn.party}: {turn.text}")
        return
    if condition.memory != "none":
        say(f"Above the question it will read what it remembers of {condition.remembers}; nothing is remembered yet.")
    words = experiment.sampling_prompts(condition)
    print_view("the student", words, view(task, condition, record.turns, "student", words))
    if condition.row.partner is None:
        say("There is no partner: what answers is content-free.")
    elif condition.voice == "human":
        say("The partner is a person, who read no prompt of ours.")
    else:
        words = experiment.partner_prompts(condition)
        print_view("the partner", words, view(task, condition, record.turns, "partner", words))


def _print_soundness(experiment: Experiment, trials: dict[str, Trial]) -> None:
    """How far each partner that is a model kept to its knowledge, by kind of violation, with examples."""
    modelled = [name for name in trials if experiment.conditions[name].voice == "model"]
    if modelled:
        console.print(Rule("who kept to what the partner may know", style="dim"))
    for name in modelled:
        soundness = Soundness()
        for record in trials[name].records:
            if isinstance(record, Dialogue):
                soundness.add(record)
        failed = sum(isinstance(record, Failure) for record in trials[name].records)
        say(f"{name}: {soundness}" + (f"; {failed} more ended in a failure" if failed else ""))
        for line in soundness.examples:
            say(f"  {line}")


def _print_costs(experiment: Experiment, tasks: list[Task], trials: dict[str, Trial], exam_answers: int) -> None:
    costs = {name: cost(experiment, tasks, name) for name in experiment.conditions}
    played = {name: trial.played for name, trial in trials.items() if trial.played is not None}
    students = len(experiment.examined) * len(experiment.seeds)
    console.print(Rule("what it takes, at most", style="dim"))
    console.print(_bounds(experiment, costs, students, exam_answers))
    if "judge" in experiment.readers:
        say("What the judge says of the turns that it reads is not in it.")
    if ahead := stages(experiment, costs, played, students * exam_answers):
        console.print(Rule("what it takes, as these dialogues went", style="dim"))
        console.print(estimate_table(experiment, ahead, rate_of(played)))
        say(measured_in_words(experiment, played))
        if not experiment.prices:
            say("`prices` in the config says what tokens cost; without them there is no money to tell.")


def _bounds(experiment: Experiment, costs: dict[str, PlannedCost], students: int, exam_answers: int) -> Table:
    table = Table("", "dialogues", "turns, at most", "tokens out, at most", box=None)
    for name, bound in costs.items():
        source = experiment.conditions[name].learns_from
        table.add_row(name, *_counts(bound)) if not source else table.add_row(name, f"those of {source}", "", "")
    table.add_row("all dialogues", *(f"{sum(column):,}" for column in list(zip(*costs.values(), strict=True))[:3]))
    most = students * exam_answers * experiment.answer_tokens("student")
    table.add_row(f"exams of {students} students", "", f"{students * exam_answers:,}", f"{most:,}")
    return table


def _counts(bound: PlannedCost) -> list[str]:
    return [f"{bound.dialogues:,}", f"{bound.turns:,}", f"{bound.tokens:,}"]

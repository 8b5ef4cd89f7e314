"""What a party reads, printed; and the first thing that a run shows: one dialogue from both sides.

For that first look some dialogues are played before the first is built. They are those that the build stores, made
a second time there, and stand in no usage.

    maieutic run quickstart
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from itertools import islice
from textwrap import wrap

from rich.rule import Rule

from pipeline.building.build import planned_dialogues, play_planned
from pipeline.building.rounds import speaking
from pipeline.core.schema import Message, Task
from pipeline.dialogue.casting import Casting
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.briefing import privileged
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts
from pipeline.reading.stored import heard_turn
from pipeline.runs.progress import console, say

TRIED = 12  # dialogues, in one of which a student that asks in every eighth has asked as good as surely


def print_view(who: str, prompts: Prompts, messages: list[Message]) -> None:
    named = "" if prompts == CLOSED_PROMPTS else f" ({prompts.says})"
    console.print(f"[bold]As {who} sees it{named}[/]")
    for message in messages:
        print_said(message["role"], message["content"])


def print_said(who: str, text: str) -> None:
    """Broken between words where somebody looks on, and else as it is: who reads a file searches for whole lines."""
    first, *rest = [part for line in text.split("\n") for part in _broken(line)]
    say(f"  {who:>9}  {first}")
    for line in rest:
        say(f"  {'':>9}  {line}")


def _broken(line: str) -> list[str]:
    width = max(console.width - 14, 20) if console.is_terminal else len(line) + 1
    return wrap(line, width, break_on_hyphens=False, replace_whitespace=False) or [""]


async def first_look(experiment: Experiment, casting: Casting, tasks: Collection[Task]) -> None:
    """Play TRIED dialogues of the condition that the primary contrast is about, and show the first in which the student
    asked, or the first of all. Nothing is shown where no condition has a partner, or the engine failed."""
    if not (name := _looked_at(experiment)):
        return
    cell = Cell(experiment, name, experiment.seeds[0])
    plans = sorted(planned_dialogues(cell, tasks), key=lambda plan: not plan.task.missing)
    cast = casting.cast(cell)
    records = await asyncio.gather(*(play_planned(plan, cast) for plan in islice(plans, TRIED)))
    casting.meter.take()  # usage is of what is stored
    dialogues = [record for record in records if isinstance(record, Dialogue)]
    if dialogues:
        asking = [dialogue for dialogue in dialogues if _asks(dialogue)]
        _show(cell, (asking or dialogues)[0])
        say(f"The student asked in {len(asking)} of {len(dialogues)} such dialogues; this is the first of "
            f"{'those' if asking else 'all'}.\n")  # fmt: skip


def _looked_at(experiment: Experiment) -> str:
    """The primary contrast's first condition, else the first whose partner knows more; '' without a partner."""
    conditions = experiment.conditions
    played = [
        name
        for name in speaking(experiment, list(conditions))
        if conditions[name].row.partner is not None
        and conditions[name].voice != "human"
        and conditions[name].memory == "none"
        and conditions[name].weights in ("base", "current")
        and not conditions[name].row.one_writer
    ]
    first = experiment.compare.primary.a if experiment.compare else ""
    played.sort(key=lambda name: (name != first, not conditions[name].row.informs))
    return next(iter(played), "")


def _asks(dialogue: Dialogue) -> bool:
    students = [turn for turn in dialogue.turns if turn.party == "student"]
    return any(heard_turn(dialogue.task, turn).asks_anything for turn in students)


def _show(cell: Cell, dialogue: Dialogue) -> None:
    experiment, condition, task = cell.experiment, cell.condition, dialogue.task
    student, partner = experiment.sampling_prompts(condition), experiment.partner_prompts(condition)
    console.print(Rule(f"one dialogue of condition {cell.condition_name}, before any training", style="bold"))
    print_view("the student", student, view(task, condition, (), "student", student))
    print_view("the partner", partner, view(task, condition, (), "partner", partner))
    console.print("[bold]What they say[/]")
    for turn in dialogue.turns:
        print_said(turn.party, turn.text)
    console.print("[bold]What only the partner knew[/]")
    print_said("", privileged(task, condition, dialogue.turns) or "nothing")
    console.print(f"[bold]The right answer{'' if condition.row.holds_answer else ', which neither was told'}[/]")
    print_said("", task.answer)

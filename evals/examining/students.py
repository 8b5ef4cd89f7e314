"""Who sits the exams, and how many at a time.

maieutic eval configs/quickstart.yaml
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial

from evals.examining.answers_asked import most_answers
from evals.examining.examine import figures_of, is_done, unasked
from evals.examining.references import make_references, references_table
from evals.examining.sitter import Sat, Tasks, adapter_of, sit
from evals.exams.registry import exams_of
from evals.sitting.examined_run import Run
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.fields import BEFORE_WARMUP, UNTRAINED
from pipeline.experiment.roles import ROLES
from pipeline.runs.directory import newest_adapter
from pipeline.runs.progress import console, say, seconds, stage
from pipeline.runs.student_files import results_path
from pipeline.sandbox.checks import can_run
from training.tracking import SampleDialogue, log_exams

SAMPLES = 3  # dialogues with each exam partner that a tracker is shown


async def examine_all(experiment: Experiment) -> None:
    """Every exam for the base and for every trained student, in the last round's state."""
    can_run(experiment.has_code)
    tasks = cache(partial(_tasks_said, experiment))
    if references := await make_references(experiment):
        console.print(references_table(references))
    if experiment.student.warmup:
        await _examine_all_of(experiment.without_warmup(), [BEFORE_WARMUP], tasks)
    await _examine_all_of(experiment, ["base", *experiment.conditions], tasks)
    names = {name: name for name in ("base", *experiment.conditions)}
    for exam in exams_of(experiment):
        if exam.tables is not None and (tables := exam.tables(Run(experiment, names))):
            console.print(*tables, sep="\n")


def _tasks_said(experiment: Experiment) -> Tasks:
    """`exam_tasks`, with a word on the exams that these are not for."""
    tasks = exam_tasks(experiment)
    _say_unasked(experiment, tasks[0])
    return tasks


async def _examine_all_of(experiment: Experiment, condition_names: list[str], tasks: Callable[[], Tasks]) -> None:
    """Every exam for each of these that is there, and has not sat it; `tasks` is asked where somebody has not."""
    casting = Casting(experiment, newest_adapter)
    students = [name for name in condition_names if name not in UNTRAINED]
    casting.announce(cells(experiment, students, experiment.rounds - 1))
    due = [cell for cell in cells(experiment, condition_names, experiment.rounds - 1) if _is_due(cell)]
    if not due:
        return
    answers = most_answers(experiment, tasks()[0], len(tasks()[1]))
    if {experiment.engine_of(role).kind for role in ROLES} == {"transformers"}:
        from evals.examining.side_by_side_exams import room_for_sitters, sit_each  # heavy: torch

        if (at_once := room_for_sitters(due, answers)) > 1:
            for cell, sat in sit_each(due, at_once):
                casting.meter.roles = sat.asked
                _note(cell, sat, casting.meter.store(experiment.run, "examine", cell))
            return
    for cell in due:
        with stage(cell.label("examine"), answers) as progress:
            try:
                sat = await sit(cell, casting, tasks(), progress)
                casting.meter.roles = sat.asked
            finally:
                cached = casting.meter.store(experiment.run, "examine", cell)
        _note(cell, sat, cached)


def _is_due(cell: Cell) -> bool:
    """Whether it is there, and has not sat the exams; it is said why not."""
    adapter = adapter_of(cell)
    if adapter is None and cell.condition_name not in UNTRAINED:
        say(f"{cell.label('examine')}: there is no adapter, left out")
        return False
    if is_done(cell, adapter):
        results_path(cell).with_suffix(".answers").unlink(missing_ok=True)  # a kill may have left it
        say(f"{cell.label('examine')}: there already")
        return False
    return True


def _note(cell: Cell, sat: Sat, cached: str) -> None:
    """Say what it took, and tell a tracker."""
    say(f"{cell.label('examine')}: {sat.answers} answers, {seconds(sat.seconds)}{cached}")
    if cell.experiment.training.report_to != "none":
        log_exams(cell, figures_of(cell), _samples(cell))
    if not is_done(cell, adapter_of(cell)):
        say("  The engine failed at some scenarios; the same command examines this student again.")


def _samples(cell: Cell) -> list[SampleDialogue]:
    """The first of a student's episodes with each exam partner; none where it played none."""
    file, shown = results_path(cell).with_suffix(".episodes.jsonl"), dict[str, list[SampleDialogue]]()
    with file.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            of_arm = shown.setdefault(row["arm"], [])
            if len(of_arm) < SAMPLES and row["task"] not in [one.task for one in of_arm]:
                of_arm.append(SampleDialogue(row["arm"], row["task"], row["turns"]))
    return [one for of_arm in shown.values() for one in of_arm]


def _say_unasked(experiment: Experiment, tasks: list[Task]) -> None:
    where = {exam.name: exam.sit.__module__ for exam in exams_of(experiment)}
    for name in unasked(experiment, tasks):
        counts = ", ".join(f"{kind}: {n}" for kind, n in experiment.tasks.exam.items())
        say(
            f"exams.include: {name} has nothing to ask about, and is left out. tasks.exam is {{{counts}}} of source "
            f"{experiment.tasks.source}; {where[name]} says which tasks, or which file, it reads."
        )

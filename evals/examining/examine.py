"""Examine one student: every exam of the config, one file of cases.

maieutic eval configs/quickstart.yaml
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path

from evals.examining.answers_asked import most_answers
from evals.examining.references import make_references, references_table
from evals.exams.registry import catalog_of, exams_of, included
from evals.metrics.case import Case
from evals.sitting.exam import sits
from evals.sitting.examined_run import Run
from evals.sitting.scaffold import Questioned, scaffolded
from evals.sitting.sitting import Sitting, counted
from evals.stats.intervals import estimate, tabulate
from pipeline.core.files import write_rows
from pipeline.core.plugins import failing_as, is_address
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.engines.model import EngineDown, Model
from pipeline.engines.weights import weights_id
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.fields import BEFORE_WARMUP
from pipeline.experiment.instruments import OpenJudge, open_acts_labeller, open_instruments
from pipeline.runs.directory import newest_adapter
from pipeline.runs.progress import console, say, seconds, stage
from pipeline.runs.usage import Metered
from pipeline.sandbox.checks import can_run
from training.tracking import SampleDialogue, log_exams

SAMPLES = 3  # dialogues with each exam partner that a tracker is shown


def results_path(cell: Cell) -> Path:
    """Where the cases of a student are stored."""
    return cell.experiment.run / "results" / cell.condition_name / f"seed-{cell.seed}.jsonl"


def _student(experiment: Experiment, adapter: Path | None) -> dict[str, str | None]:
    """Who sat the exam, by content."""
    return {
        "model": weights_id(experiment.base),
        "adapter": None if adapter is None else weights_id(str(adapter)),
    }


def is_done(cell: Cell, adapter: Path | None) -> bool:
    """Whether these very weights sat the exam already."""
    record = results_path(cell).with_suffix(".student.json")
    return record.is_file() and json.loads(record.read_text(encoding="utf-8")) == _student(cell.experiment, adapter)


async def examine(
    cell: Cell,
    adapter: Path | None,
    student: Model,
    peer: Model,
    tasks: list[Task],
    first_turn_tasks: list[Task],
    judge: OpenJudge | None = None,
) -> Path:
    """Write results/<condition>/seed-N.jsonl (cases), seed-N.episodes.jsonl and others with what was said, and who sat
    the exam.

    `student` is the model with `adapter`, opened, and `judge` opens who reads, where one does. Where the engine failed
    at some scenarios, who sat the exam is left out: it counts as not done. Raises EngineDown where it failed at most.
    """
    experiment = cell.experiment
    hears, reads = open_instruments(experiment, judge)
    met = scaffolded(experiment, student)
    sitting = Sitting(
        experiment=experiment,
        student=met,
        peer=peer,
        seed=cell.seed,
        tasks=tuple(tasks),
        first_turn_tasks=tuple(first_turn_tasks),
        hears=hears,
        reads=reads,
        labeller=open_acts_labeller(experiment, judge),
    )
    cases: list[Case] = []
    for name, exam in zip(included(experiment), exams_of(experiment), strict=True):
        if sits(exam, experiment):
            with failing_as("exams.include", name) if is_address(name) else nullcontext():
                cases += await exam.sit(sitting)
    if 2 * len(sitting.errors) > len(sitting.outcomes):
        raise EngineDown(
            f"exams of {cell.condition_name}, seed {cell.seed}: the engine failed at {len(sitting.errors)} of "
            f"{len(sitting.outcomes)} "
            f"scenarios; the last: {sitting.errors[-1]}. Mend that; the same command examines again."
        )
    notes: dict[str, list[float]] = {}
    if isinstance(met, Questioned):
        sitting.transcripts["notes"], notes = met.transcript(), met.counts()
    path = results_path(cell)
    record = path.with_suffix(".student.json")
    record.unlink(missing_ok=True)
    for name, rows in sitting.transcripts.items():
        write_rows(path.with_suffix(f".{name}.jsonl"), rows)
    write_rows(path, (case._asdict() for case in cases + _of_the_whole(sitting, notes)))
    if not sitting.errors:
        write_rows(record, [_student(experiment, adapter)])
    return path


def _of_the_whole(sitting: Sitting, notes: dict[str, list[float]]) -> list[Case]:
    """What is counted of all exams together (evals.sitting.sitting.counted)."""
    found = {"unanswered": sitting.outcomes, "unlabelled": sitting.unlabelled, "unread": sitting.unread} | notes
    return [
        Case(exam="all", task="all", metric=metric.name, hits=sum(hits), n=len(hits))
        for metric in counted(sitting.experiment)
        if (hits := found[metric.name])
    ]


def unasked(experiment: Experiment, tasks: list[Task]) -> list[str]:
    """The exams of the config that its student can sit and for which none of its tasks or files is."""
    sat = [exam for exam in exams_of(experiment) if sits(exam, experiment)]
    return [exam.name for exam in sat if not (exam.answers(experiment, tasks) or (exam.episodes and tasks))]


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


def _tasks_said(experiment: Experiment) -> tuple[list[Task], list[Task]]:
    """`exam_tasks`, with a word on the exams that these are not for."""
    tasks, first_turn_tasks = exam_tasks(experiment)
    _say_unasked(experiment, tasks)
    return tasks, first_turn_tasks


async def _examine_all_of(
    experiment: Experiment, condition_names: list[str], tasks: Callable[[], tuple[list[Task], list[Task]]]
) -> None:
    """Every exam for each of these that is there, and has not sat it; `tasks` is asked where somebody has not."""
    casting, untrained = Casting(experiment, newest_adapter), (BEFORE_WARMUP, "base")
    students = [name for name in condition_names if name not in untrained]
    casting.announce(cells(experiment, students, experiment.rounds - 1))
    for cell in cells(experiment, condition_names, experiment.rounds - 1):
        adapter = None if cell.condition_name in untrained else newest_adapter(cell)
        if adapter is None and cell.condition_name not in untrained:
            say(f"{cell.label('examine')}: there is no adapter, left out")
        elif is_done(cell, adapter):
            say(f"{cell.label('examine')}: there already")
        else:
            await _examine_student(cell, casting, adapter, *tasks())


async def _examine_student(
    cell: Cell, casting: Casting, adapter: Path | None, tasks: list[Task], first_turn_tasks: list[Task]
) -> None:
    """Open it, examine it, and say how long that took."""
    experiment, label, began = cell.experiment, cell.label("examine"), time.monotonic()
    base = casting.open("student")
    with stage(label, most_answers(experiment, tasks, len(first_turn_tasks))) as progress:
        student = Metered(casting.open("student", adapter), lambda _: progress())
        try:
            await examine(cell, adapter, student, base, tasks, first_turn_tasks, partial(casting.open, "judge"))
        finally:
            cached = casting.meter.store(experiment.run, "examine", cell)
    say(f"{label}: {progress.done} answers, {seconds(time.monotonic() - began)}{cached}")
    if experiment.training.report_to != "none":
        log_exams(cell, figures_of(cell), _samples(cell))
    if not is_done(cell, adapter):
        say("  The engine failed at some scenarios; the same command examines this student again.")


def figures_of(cell: Cell) -> dict[str, float]:
    """The values of all metrics, composite ones too, that a student's cases give; not of greedy answers."""
    lines = results_path(cell).read_text(encoding="utf-8").splitlines()
    tables = tabulate({cell.seed: [Case(**json.loads(line)) for line in lines]})
    metrics = catalog_of([cell.experiment])
    named = metrics.offered({metric for metric, greedy in tables if not greedy})
    values = {name: estimate(tables, metrics.signed_sum(name)).value for name in named}
    return {name: value for name, value in values.items() if not math.isnan(value)}


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

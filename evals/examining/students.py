"""Who sits the exams, and how many at a time.

maieutic eval configs/quickstart.yaml
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from evals.examining.answers_asked import most_answers
from evals.examining.examine import figures_of, is_done, unasked
from evals.examining.one_sitter import sat
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
from pipeline.runs.processes import begin_early, begun_early
from pipeline.runs.progress import console, say, seconds, stage
from pipeline.runs.student_files import results_path
from pipeline.sandbox.checks import can_run
from training.tracking import SampleDialogue, log_exams

SAMPLES = 3  # dialogues with each exam partner that a tracker is shown
TOGETHER = 4  # students that share an engine's batches: one waits for its longest talk at the end of every exam
EVERY = 0.2  # seconds between two looks at how far one is


def examine_all(experiment: Experiment) -> None:
    """Every exam for the base and for every trained student, in the last round's state."""
    can_run(experiment.has_code)
    if references := asyncio.run(make_references(experiment)):
        console.print(references_table(references))
    if due := [cell for cell in _sitters(experiment) if begun_early("examine", cell) or _is_due(cell)]:
        tasks = exam_tasks(experiment)
        _say_unasked(experiment, tasks[0])
        _sit_all(experiment, due, tasks)
    names = {name: name for name in ("base", *experiment.conditions)}
    for exam in exams_of(experiment):
        if exam.tables is not None and (tables := exam.tables(Run(experiment, names))):
            console.print(*tables, sep="\n")


def begin_exams_early(experiment: Experiment, in_training: Sequence[Cell]) -> None:
    """Begin what `examine_all` will ask for beside the last trainings: who is there sits at once, and the others as
    soon as they are trained. Nothing where exams would not go as many at a time as these."""
    trained = {cell.key for cell in in_training}
    sitters = _sitters(experiment)
    there = [cell for cell in sitters if cell.key not in trained and _is_there(cell)]
    due = [cell for cell in there if not is_done(cell, adapter_of(cell))]
    due += [cell for cell in sitters if cell.key in trained]
    if due and (at_once := _at_once(due, exam_tasks(experiment))) > 1:
        begin_early(sat, "examine", due, at_once, after="train")


def _sitters(experiment: Experiment) -> list[Cell]:
    """Whoever is examined, whether it is there or not, and with the base that it has."""
    warmed = experiment.student.warmup
    before = cells(experiment.without_warmup(), [BEFORE_WARMUP], experiment.rounds - 1) if warmed else []
    return [*before, *cells(experiment, ["base", *experiment.conditions], experiment.rounds - 1)]


def _at_once(due: Sequence[Cell], tasks: Tasks) -> int:
    """How many of them sit at a time; 1 where a server or a GPU answers."""
    experiment = due[0].experiment
    if {experiment.engine_of(role).kind for role in ROLES} != {"transformers"}:
        return 1
    from evals.examining.side_by_side_exams import room_for_sitters  # heavy: torch

    return room_for_sitters(due, most_answers(experiment, tasks[0], len(tasks[1])))


def _sit_all(experiment: Experiment, due: Sequence[Cell], tasks: Tasks) -> None:
    """Several at a time where they have room, or where they are at it already: no loop runs then, which would hold an
    interrupt back until they have sat."""
    if (at_once := _at_once(due, tasks)) > 1 or any(begun_early("examine", cell) for cell in due):
        from evals.examining.side_by_side_exams import sit_each  # heavy: torch

        for cell, took in sit_each(due, at_once):
            _note(cell, took)
        return
    before = [cell for cell in due if cell.condition_name == BEFORE_WARMUP]
    if before:
        asyncio.run(sit_on_one_base(experiment.without_warmup(), before, tasks))
    asyncio.run(sit_on_one_base(experiment, [cell for cell in due if cell not in before], tasks))


async def sit_on_one_base(experiment: Experiment, due: Sequence[Cell], tasks: Tasks) -> None:
    """On one base's engines, in one loop: so many at a time as share their batches. An error is raised once those
    before it have sat, and stops whoever is not done then."""
    casting, at_once = Casting(experiment, newest_adapter), min(share_batches(experiment), max(len(due), 1))
    casting.announce(cell for cell in due if cell.condition_name not in UNTRAINED)
    free, said = asyncio.Semaphore(at_once), dict[tuple[str, int, int], tuple[int, int]]()

    async def sits(cell: Cell) -> Sat:
        async with free:
            own = Casting(experiment, newest_adapter)  # which counts what this student and its partners answer
            return await sit(_with_its_part(cell, at_once), own, tasks, lambda *step: said.update({cell.key: step}))

    sittings, noted = [asyncio.create_task(sits(cell)) for cell in due], 0
    try:
        for i, (cell, sitting) in enumerate(zip(due, sittings, strict=True)):
            with stage(cell.label("examine"), at_once=min(at_once, len(due) - i)) as progress:
                while not (await asyncio.wait([sitting], timeout=EVERY))[0]:
                    if cell.key in said:
                        progress(*said[cell.key])
                took = sitting.result()
            _note(cell, took)
            noted += 1
    finally:
        for sitting in sittings:
            sitting.cancel()
        ended = await asyncio.gather(*sittings, return_exceptions=True)
        for cell, came in zip(due[noted:], ended[noted:], strict=True):
            if isinstance(came, Sat):
                _note(cell, came)


def share_batches(experiment: Experiment) -> int:
    """How many students sit at a time in one loop: several where vLLM or a server has them in one batch, and never
    more scenarios than `dialogue.concurrency`."""
    shared = experiment.engine_of("student").kind in ("vllm", "openai")
    return min(TOGETHER, experiment.dialogue.concurrency) if shared else 1


def _with_its_part(cell: Cell, at_once: int) -> Cell:
    """The same with its part of what may go on at a time."""
    experiment, dialogue = cell.experiment, cell.experiment.dialogue
    dialogue = dialogue.model_copy(update={"concurrency": dialogue.concurrency // at_once})
    return cell._replace(experiment=experiment.model_copy(update={"dialogue": dialogue}))


def _is_due(cell: Cell) -> bool:
    """Whether it is there, and has not sat the exams; it is said why not."""
    if not _is_there(cell):
        say(f"{cell.label('examine')}: there is no adapter, left out")
        return False
    if is_done(cell, adapter_of(cell)):
        results_path(cell).with_suffix(".answers").unlink(missing_ok=True)  # a kill may have left it
        say(f"{cell.label('examine')}: there already")
        return False
    return True


def _is_there(cell: Cell) -> bool:
    return cell.condition_name in UNTRAINED or adapter_of(cell) is not None


def _note(cell: Cell, took: Sat) -> None:
    """Say what it took, and tell a tracker."""
    say(f"{cell.label('examine')}: {took.answers} answers, {seconds(took.seconds)}{took.cached}")
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

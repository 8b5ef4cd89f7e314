"""Examine one student: every exam of the config, one file of cases.

maieutic eval configs/quickstart.yaml
"""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path

from evals.exams.registry import catalog_of, exams_of, included
from evals.metrics.case import Case
from evals.metrics.case_file import cases_of
from evals.sitting.answered import Answered
from evals.sitting.exam import sits
from evals.sitting.scaffold import Questioned, scaffolded
from evals.sitting.sitting import Sitting, counted
from evals.stats.intervals import estimate, tabulate
from pipeline.core.files import file_hash, write_rows
from pipeline.core.plugins import failing_as, is_address
from pipeline.core.schema import Task, digest
from pipeline.engines.model import EngineDown, Model
from pipeline.engines.weights import directory_id, weights_id
from pipeline.experiment.assignment import in_whole
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import OpenJudge, open_acts_labeller, open_instruments
from pipeline.runs.student_files import results_path


def who_sits(experiment: Experiment, adapter: Path | None) -> dict[str, str | None]:
    """Who sat the exam, and in which words it was asked, by content."""
    roles = sorted(experiment.roles_in_use)
    return {
        "model": weights_id(experiment.base),
        "adapter": None if adapter is None else weights_id(str(adapter)),
        "files": digest(directory_id(experiment.base), directory_id(str(adapter or ""))),
        "prompts": digest([[name, experiment.prompts(name).content] for name in roles]),
        "labeller": digest([file_hash(path) for path in _classifier(experiment) if path.is_file()]),
    }


def _classifier(experiment: Experiment) -> list[Path]:
    return [Path(experiment.acts.path, name) for name in ("classifier.json", "weights.npz")]


def is_done(cell: Cell, adapter: Path | None) -> bool:
    """Whether these very weights sat the exam already, in these words. What an earlier version did not write down is
    taken to be the same."""
    record = results_path(cell).with_suffix(".student.json")
    if not record.is_file():
        return False
    sat, now = json.loads(record.read_text(encoding="utf-8")), who_sits(cell.experiment, adapter)
    return "model" in sat and {key: now[key] for key in now if key in sat} == sat


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
    answered = Answered(met, experiment.dialogue.max_tokens)
    whole, openings = in_whole(experiment, tasks)
    sitting = Sitting(
        experiment=experiment,
        student=answered,
        peer=peer,
        seed=cell.seed,
        tasks=tuple(whole),
        openings=tuple(openings),
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
    for errors, asked, what in (
        (sitting.errors, len(sitting.outcomes), "scenarios"),
        (sitting.label_errors, len(sitting.unlabelled), "labels of turns"),
    ):
        if 2 * len(errors) > asked:
            raise EngineDown(
                f"exams of {cell.condition_name}, seed {cell.seed}: the engine failed at {len(errors)} of {asked} "
                f"{what}; the last: {errors[-1]}. Mend that; the same command examines again."
            )
    notes: dict[str, list[float]] = {}
    if isinstance(met, Questioned):
        sitting.transcripts["notes"], notes = met.transcript(), met.counts()
    path = results_path(cell)
    record = path.with_suffix(".student.json")
    record.unlink(missing_ok=True)
    for name, rows in sitting.transcripts.items():
        write_rows(path.with_suffix(f".{name}.jsonl"), rows)
    write_rows(path, (case._asdict() for case in cases + _of_the_whole(sitting, answered, notes)))
    if not sitting.errors and not sitting.label_errors:
        write_rows(record, [who_sits(experiment, adapter)])
    return path


def _of_the_whole(sitting: Sitting, answered: Answered, notes: dict[str, list[float]]) -> list[Case]:
    """What is counted of all exams together (evals.sitting.sitting.counted)."""
    of_scenarios = {"unanswered": sitting.outcomes, "unlabelled": sitting.unlabelled, "unread": sitting.unread}
    found = of_scenarios | {"silent": answered.silent, "cut": answered.cut} | notes
    return [
        Case(exam="all", task="all", metric=metric.name, hits=sum(hits), n=len(hits))
        for metric in counted(sitting.experiment)
        if (hits := found[metric.name])
    ]


def unasked(experiment: Experiment, tasks: list[Task]) -> list[str]:
    """The exams of the config that its student can sit and for which none of its tasks or files is."""
    sat = [exam for exam in exams_of(experiment) if sits(exam, experiment)]
    return [exam.name for exam in sat if not (exam.answers(experiment, tasks) or (exam.episodes and tasks))]


def figures_of(cell: Cell) -> dict[str, float]:
    """The values of all metrics, composite ones too, that a student's cases give; not of greedy answers."""
    tables = tabulate({cell.seed: cases_of(results_path(cell))})
    metrics = catalog_of([cell.experiment])
    named = metrics.offered({metric for metric, greedy in tables if not greedy})
    values = {name: estimate(tables, metrics.signed_sum(name)).value for name in named}
    return {name: value for name, value in values.items() if not math.isnan(value)}

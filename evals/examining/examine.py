"""Examine one student: every exam of the config, one file of cases.

maieutic eval configs/quickstart.yaml
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.examining.cost import most_answers
from evals.examining.references import make_references, references_table
from evals.exams.asking import asking, asking_episodes
from evals.exams.collapse import collapse
from evals.exams.feedback import feedback
from evals.exams.grounding import grounding, repair
from evals.exams.human.beside_people import beside_people, people_tables
from evals.exams.human.human import Answer, human
from evals.exams.human.people import labelled, people_path, places
from evals.exams.registry import EXAMS
from evals.report.asking_against_need import asking_against_need, need_tables
from evals.report.mentions import mention_table, mentions
from evals.sitting.exam import sits
from evals.sitting.scaffold import scaffolded
from evals.sitting.sitting import Case, ExamEpisode, Sitting
from pipeline.core.files import write_whole
from pipeline.core.schema import Task
from pipeline.dialogue.casting import Casting
from pipeline.engines.model import EngineDown, Model
from pipeline.engines.weights import weights_id
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell, cells
from pipeline.experiment.experiment import Experiment
from pipeline.reading.labeller import open_labeller
from pipeline.runs.directory import newest_adapter
from pipeline.runs.progress import console, say, seconds, stage
from pipeline.runs.usage import Metered
from pipeline.sandbox.checks import can_run


def results_path(cell: Cell) -> Path:
    return cell.experiment.run / "results" / cell.condition_name / f"seed-{cell.seed}.jsonl"


def _student(experiment: Experiment, adapter: Path | None) -> dict[str, str | None]:
    """Who sat the exam, by content."""
    return {
        "model": weights_id(experiment.student.model),
        "adapter": None if adapter is None else weights_id(str(adapter)),
    }


def is_done(cell: Cell, adapter: Path | None) -> bool:
    """Whether these very weights sat the exam already."""
    record = results_path(cell).with_suffix(".student.json")
    return record.is_file() and json.loads(record.read_text(encoding="utf-8")) == _student(cell.experiment, adapter)


async def examine(
    cell: Cell, adapter: Path | None, student: Model, peer: Model, tasks: list[Task], aside: list[Task]
) -> Path:
    """Write results/<condition>/seed-N.jsonl (cases), seed-N.episodes.jsonl and seed-N.people.jsonl (what was said in
    whole episodes, and in place of people), and who sat the exam.

    `student` is the model with `adapter`, opened. Where its engine failed at some scenarios, who sat the exam is
    left out: it counts as not done. Raises EngineDown where it failed at most of them.
    """
    experiment = cell.experiment
    labeller = open_labeller(experiment.acts, experiment.engine)
    sat = scaffolded(experiment, student)
    sitting = Sitting(experiment, sat, peer, cell.seed, tuple(tasks), tuple(aside), labeller=labeller)
    include = experiment.exams.include
    cases: list[Case] = []
    episodes: list[ExamEpisode] = []
    beside: list[Answer] = []
    if {"asking", "grounding", "feedback"} & set(include):
        episodes = await sitting.episodes()
    if "asking" in include:
        cases += await asking(sitting) + asking_episodes(episodes)
    if "collapse" in include:
        cases += await collapse(sitting)
    if "grounding" in include:
        cases += await grounding(sitting, episodes) + await repair(sitting)
    if "feedback" in include:
        cases += feedback(episodes, sitting.settings.turns)
    for name in include:
        if name in EXAMS and sits(EXAMS[name], experiment):
            cases += await EXAMS[name].sit(sitting)
    if experiment.exams.human is not None:
        of_people, beside = await human(sitting, experiment.exams.human)
        cases += of_people
    if 2 * len(sitting.errors) > len(sitting.outcomes):
        raise EngineDown(
            f"exams of {cell.condition_name}, seed {cell.seed}: the engine failed at {len(sitting.errors)} of "
            f"{len(sitting.outcomes)} "
            f"scenarios; the last: {sitting.errors[-1]}. Mend that; the same command examines again."
        )
    if sitting.outcomes:
        cases.append(Case("all", "all", "unanswered", sum(sitting.outcomes), len(sitting.outcomes)))
    if sitting.unlabelled and experiment.acts.may_give_none:
        cases.append(Case("all", "all", "unlabelled", sum(sitting.unlabelled), len(sitting.unlabelled)))
    path = results_path(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    record = path.with_suffix(".student.json")
    record.unlink(missing_ok=True)
    _write(
        path.with_suffix(".episodes.jsonl"),
        [
            {
                "arm": e.arm,
                "task": e.task.id,
                "sample": e.sample,
                "stop": e.played.stop,
                "turns": [[turn.party, turn.text] for turn in e.played.turns],
            }
            for e in episodes
        ],
    )
    if experiment.exams.human is not None:
        _write(path.with_suffix(".people.jsonl"), [answer.model_dump(mode="json") for answer in beside])
    _write(path, [case._asdict() for case in cases])
    if not sitting.errors:
        _write(record, [_student(experiment, adapter)])
    return path


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def unasked(experiment: Experiment, tasks: list[Task]) -> list[str]:
    """The exams of the config that its student can sit and for which none of its tasks or files is."""
    sat = [name for name in experiment.exams.include if name in EXAMS and sits(EXAMS[name], experiment)]
    return [name for name in sat if not EXAMS[name].answers(experiment, tasks)]


async def examine_all(experiment: Experiment) -> None:
    """Every exam for the base and for every trained student, in the last round's state."""
    can_run(experiment.has_code)
    tasks, aside = exam_tasks(experiment)
    if experiment.exams.human is not None:
        found, bad = places(experiment.exams.human)
        say(f"people: {len(found)} turns, {len(bad)} rows could not be read")
        for row in bad[:3]:
            say(f"  {row.where}: {row.message}")
        people = people_path(experiment.run)
        people.parent.mkdir(parents=True, exist_ok=True)
        labels = await labelled(found, open_labeller(experiment.acts, experiment.engine))
        if without := len(found) - len(labels):
            say(f"  {without} of them got no valid label, and are left out")
        _write(people, [turn.model_dump(mode="json") for turn in labels])
    for name in unasked(experiment, tasks):
        exam = ", ".join(f"{kind}: {n}" for kind, n in experiment.tasks.exam.items())
        say(
            f"exams.include: {name} has nothing to ask about, and is left out. tasks.exam is {{{exam}}} of source "
            f"{experiment.tasks.source}; evals/exams/{name}.py says which tasks, or which file, it reads."
        )
    if references := await make_references(experiment):
        console.print(references_table(references))
    most = most_answers(experiment, tasks, len(aside))
    casting = Casting(experiment, newest_adapter)
    casting.announce(cells(experiment, experiment.conditions, experiment.rounds - 1))
    for cell in cells(experiment, ("base", *experiment.conditions), experiment.rounds - 1):
        adapter = None if cell.condition_name == "base" else newest_adapter(cell)
        label = cell.label("examine")
        if adapter is None and cell.condition_name != "base":
            say(f"{label}: there is no adapter, left out")
            continue
        if is_done(cell, adapter):
            say(f"{label}: there already")
            continue
        began = time.monotonic()
        base = casting.open(experiment.student.model)
        with stage(label, most) as progress:
            student = Metered(casting.open(experiment.student.model, adapter), lambda _: progress())
            try:
                await examine(cell, adapter, student, base, tasks, aside)
            finally:
                cached = casting.meter.store(experiment.run, "examine", cell)
        say(f"{label}: {progress.done} answers, {seconds(time.monotonic() - began)}{cached}")
        if not is_done(cell, adapter):
            say("  The engine failed at some scenarios; the same command examines this student again.")
    names = {name: name for name in ("base", *experiment.conditions)}
    if block := beside_people(experiment.run, experiment, names):
        console.print(*people_tables(block), sep="\n")
    if block := asking_against_need(experiment.run, experiment, names):
        console.print(*need_tables(block), sep="\n")
    if block := mentions(experiment.run, experiment, names):
        console.print(mention_table(block))

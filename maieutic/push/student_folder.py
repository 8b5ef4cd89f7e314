"""The students of a run as they are pushed: an adapter for each condition and seed, with how they did in the exams.

PeftModel.from_pretrained(base, "OWNER/NAME", subfolder="facts/seed-1")
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import ModelCard, ModelCardData

from evals.exams.registry import catalog_of
from evals.report.report_page import is_shown
from evals.report.summary_types import ConditionSummary, Measured, Summary
from maieutic.push.may_be_pushed import Student
from pipeline.core.card_template import card_template
from pipeline.core.files import write_whole
from pipeline.engines.weights import EMBEDDED, SMOLLM2
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.places import values_without_places, without_place, without_places
from pipeline.runs.student_files import RECORD
from training.model_card import fill_card

LICENCES = {EMBEDDED: "mit", SMOLLM2: "apache-2.0"}  # of bases, where it is known here


def write_students(experiment: Experiment, students: Sequence[Student], repository: str) -> Path:
    """Write RUN/push/model anew and return it: adapters with their cards, a warmed-up base, a card of all, config."""
    folder = experiment.run / "push" / "model"
    shutil.rmtree(folder, ignore_errors=True)
    summary = Summary.model_validate_json((experiment.run / "report.json").read_text(encoding="utf-8"))
    for student in students:
        _write_adapter(student, folder / student.cell.condition_name / f"seed-{student.cell.seed}", repository, summary)
    if experiment.student.warmup:
        shutil.copytree(experiment.base, folder / "warmup" / "base")
    names = list(dict.fromkeys(student.cell.condition_name for student in students))
    first = students[0].cell
    body = card_template("maieutic.push", "students.md.j2").render(
        experiment=experiment,
        repository=repository,
        model=without_place(experiment.student.model),
        names=names,
        folders=[f"{cell.condition_name}/seed-{cell.seed}" for cell, _ in students],
        first=f"{first.condition_name}/seed-{first.seed}",
        headline=summary.headline,
        exams=exam_table(experiment, summary, names),
        untrained=[name for name in experiment.conditions if name not in names],
        limits=_limits(experiment, summary),
        licence=LICENCES.get(experiment.student.model, ""),
    )
    write_whole(folder / "README.md", f"---\n{_metadata(experiment, repository).to_yaml()}\n---\n\n{body}")
    write_whole(folder / "config.yaml", without_places(experiment))
    return folder


def _write_adapter(student: Student, folder: Path, repository: str, summary: Summary) -> None:
    """The adapter and what it was made from, without where anything lay."""
    cell = student.cell
    shutil.copytree(student.adapter, folder)
    for file, own in (
        (RECORD, {}),
        ("adapter_config.json", {"base_model_name_or_path": cell.experiment.student.model}),
    ):
        values = json.loads((folder / file).read_text(encoding="utf-8")) | own
        write_whole(folder / file, json.dumps(values_without_places(values), indent=1) + "\n")
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    more = card_template("maieutic.push", "student.md.j2").render(
        cell=cell,
        repository=repository,
        exams=exam_table(cell.experiment, summary, [cell.condition_name]),
        limits=_limits(cell.experiment, summary),
    )
    fill_card(folder / "README.md", cell, record, repository, f"\n{more}")
    card = ModelCard.load(folder / "README.md")
    card.data.datasets, card.data.license = [repository], LICENCES.get(cell.experiment.student.model)
    card.save(folder / "README.md")


def exam_table(experiment: Experiment, summary: Summary, names: Sequence[str]) -> list[list[str]]:
    """Rows of a table: a metric that the report shows first, then its value for the base and under each condition."""
    metrics, columns = catalog_of([experiment]), ["base", *names]
    of: list[ConditionSummary | None] = [summary.conditions.get(name) for name in columns]
    there = dict.fromkeys(name for one in of if one for name in one.metrics)
    shown = [name for name in metrics.offered(there) if is_shown(metrics.metric(name), name)]
    return [["metric", *columns]] + [
        [f"`{name}`", *(_cell(one.metrics.get(name) if one else None) for one in of)] for name in shown
    ]


def _cell(rate: Measured | None) -> str:
    if rate is None or rate.value is None or rate.low is None or rate.high is None:
        return "not measured"
    return f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}] ({rate.n})"


def _limits(experiment: Experiment, summary: Summary) -> list[str]:
    """What one has to know of all students of the run."""
    readers = ", ".join(dict.fromkeys(reader.metrics for reader in summary.readers))
    limits = [
        "Partners were simulated, unless the dataset's card says that they were people.",
        f"Figures rest on turns as a reader (`{readers}`) understands them.",
    ]
    if experiment.has_planted_acts:
        limits.append(
            "How often the base asks, guesses and gives in was planted when it was trained, and it knows the words of "
            "one small world alone. Only changes against it mean anything."
        )
    return [*limits, *summary.notes]


def _metadata(experiment: Experiment, repository: str) -> ModelCardData:
    """What a hub reads of the card."""
    return ModelCardData(
        base_model=without_place(experiment.student.model),
        datasets=[repository],
        language="en",
        library_name="peft",
        license=LICENCES.get(experiment.student.model),
        pipeline_tag="text-generation",
        tags=["lora", "maieutic", "knowledge-asymmetry"],
    )

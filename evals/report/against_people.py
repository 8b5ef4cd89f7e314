"""How far whoever labels acts agrees with people, on talk that people labelled: precision, recall, F1 and kappa.

The figures of the rules ship as data/labels.json (`maieutic eval labels configs/labels.yaml` makes it). Those of a
classifier, or of a judge, are in `acts.path`; a judge's count where its model and its prompt are those of the run, and
without a path nothing is measured. All are of other people's talk: a student's turns may be labelled better or worse.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from evals.metrics.metric import Metric
from pipeline.core.files import file_hash
from pipeline.core.resources import shipped
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment
from pipeline.reading.labelling.judge import prompt_hash
from pipeline.reading.settings import ActsSettings

SHIPPED = shipped("data", "labels.json")
# Classes that a classifier decides (pipeline/reading/labelling/labeller.py); the rest is by rule.
CLASSIFIED = {"question", "request", "acknowledge", "take_up", "agree", "disagree"}
LEAKS = ("leak", "leak_people")  # by rule, whoever labels acts; an instrument that is not `closed` reads them otherwise
NOT_MEASURED = "not measured"


class LabellerFigure(NamedTuple):
    """One class of one labeller on one corpus; [value, low, high], None where it is not measured."""

    labeller: str
    name: str
    corpus: str
    n: int
    precision: list[float] | None
    recall: list[float] | None
    f1: list[float] | None
    kappa: list[float] | None
    trivial: list[float] | None  # F1 of a baseline that hardly knows the text


def labelled_by(metric: Metric, experiment: Experiment) -> list[LabellerFigure]:
    """Against people: the figures of the labels that a metric is made of; empty where none was measured."""
    classes, acts = () if metric.reader is None else metric.reader.people, experiment.acts
    keys = ("corpus", "n", "precision", "recall", "f1", "kappa")
    return [
        LabellerFigure(
            labeller=labeller,
            name=wanted,
            trivial=_trivial(wanted, row["corpus"]),
            **{key: row[key] for key in keys},
        )
        for wanted in classes
        if wanted not in LEAKS or experiment.readers[1] == "closed"
        for labeller in [_labeller(wanted, acts)]
        for row in _of(
            labeller, acts, {"model": experiment.judge.model, "prompt": prompt_hash(experiment.prompts("judge"))}
        )
        if row["measured"] and (row["labeller"], row["class"]) == (labeller, wanted)
    ]


def _labeller(wanted: str, acts: ActsSettings) -> str:
    return "rules" if is_by_rule(wanted, acts) else acts.labeller


def is_by_rule(wanted: str, acts: ActsSettings) -> bool:
    """Whether rules label a class, whoever labels others."""
    return acts.labeller == "rules" or wanted in LEAKS or (acts.labeller == "classifier" and wanted not in CLASSIFIED)


def _of(labeller: str, acts: ActsSettings, judge: dict[str, str]) -> list[Json]:
    if labeller == "rules":
        return _read(SHIPPED)["figures"]
    if not acts.path:
        return []
    read = _read(Path(acts.path) / "figures.json")
    if labeller == "judge" and read.get("judge") != judge:
        return []
    return read.get("figures", [])


def _trivial(wanted: str, corpus: str) -> list[float] | None:
    key = ("baseline", wanted.removesuffix("_people"), corpus)
    rows = _read(SHIPPED)["figures"]
    return next((row["f1"] for row in rows if (row["labeller"], row["class"], row["corpus"]) == key), None)


def _read(file: Path) -> Json:
    return _parsed(file, file_hash(file)) if file.is_file() else {}


@lru_cache
def _parsed(file: Path, content: str) -> Json:
    return json.loads(file.read_text(encoding="utf-8"))


def people_in_full(metric: Metric, runs: Sequence[Experiment]) -> list[str]:
    """Of all its classes, on every corpus, with intervals."""
    assert metric.reader is not None
    rows = _of_people(metric, runs)
    absent = [name for name in metric.reader.people if name not in {row.name for row in rows} and name not in LEAKS]
    told = [f"{row.name} by {row.labeller} on {row.corpus}, n {row.n}: {_long(row)}" for row in rows]
    return told + [f"{name}: {NOT_MEASURED}" for name in absent]


def _of_people(metric: Metric, runs: Sequence[Experiment]) -> list[LabellerFigure]:
    return list({str(row): row for run in runs for row in labelled_by(metric, run)}.values())


def _long(figure: LabellerFigure) -> str:
    rates = {"precision": figure.precision, "recall": figure.recall, "F1": figure.f1, "kappa": figure.kappa}
    rates |= {"F1 of the baseline": figure.trivial}
    return ", ".join(f"{name} {rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})" for name, rate in rates.items() if rate)

"""How far the labeller behind a rate agrees with people: precision, recall, F1 and kappa, beside the rate.

The figures of the rules ship as data/labels.json (`maieutic eval labels configs/labels.yaml` makes it). Those of a
classifier, or of a judge, are in `acts.path`; a judge's count where its model and its prompt are those of the run, and
without a path nothing is measured. All are of other people's talk: a student's turns may be labelled better or worse.

    labelled_by(metric)[0]     # of acknowledge: acknowledge of the rules on MRDA
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from evals.metrics.metric import Metric
from evals.metrics.reader import FACT
from pipeline.core.resources import shipped
from pipeline.core.schema import Json
from pipeline.reading.labelling.judge import prompt_hash
from pipeline.reading.settings import ActsSettings

SHIPPED = shipped("data", "labels.json")
# Classes that a classifier decides (pipeline/reading/labelling/labeller.py); the rest is by rule.
CLASSIFIED = {"question", "request", "acknowledge", "take_up", "agree", "disagree"}


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


def labelled_by(metric: Metric, settings: ActsSettings = ActsSettings()) -> list[LabellerFigure]:
    """The figures of the labels that a metric is made of; empty where no label makes it, or none was measured."""
    classes = () if metric.reader is None else metric.reader.classes
    keys = ("corpus", "n", "precision", "recall", "f1", "kappa")
    return [
        LabellerFigure(
            labeller=labeller,
            name=wanted,
            trivial=_trivial(wanted, row["corpus"]),
            **{key: row[key] for key in keys},
        )
        for wanted in classes
        for labeller in [_labeller(metric, wanted, settings)]
        for row in _of(labeller, settings)
        if row["measured"] and (row["labeller"], row["class"]) == (labeller, wanted)
    ]


def _labeller(metric: Metric, wanted: str, settings: ActsSettings) -> str:
    by_rule = {"rules": True, "classifier": wanted not in CLASSIFIED, "judge": wanted == "attempt" != metric.name}
    configured = metric.reader is not None and metric.reader.configured
    return "rules" if not configured or by_rule.get(settings.labeller) else settings.labeller


def _of(labeller: str, settings: ActsSettings) -> list[Json]:
    if labeller == "rules":
        return _read(SHIPPED)["figures"]
    if not settings.path:
        return []
    read = _read(Path(settings.path) / "figures.json")
    if labeller == "judge" and read.get("judge") != {"model": settings.model, "prompt": prompt_hash()}:
        return []
    return read.get("figures", [])


def _trivial(wanted: str, corpus: str) -> list[float] | None:
    key = ("baseline", wanted.removesuffix("_people"), corpus)
    rows = _read(SHIPPED)["figures"]
    return next((row["f1"] for row in rows if (row["labeller"], row["class"], row["corpus"]) == key), None)


@lru_cache
def _read(file: Path) -> Json:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def beside(metric: Metric, runs: Iterable[ActsSettings]) -> Json | None:
    """What a report prints beside a rate, `short` (its first class) and `full`; None where no label makes it."""
    if metric.reader is None:
        return None
    classes, unmeasured = metric.reader.classes, metric.reader.unmeasured
    measured = list({str(figure): figure for settings in runs for figure in labelled_by(metric, settings)}.values())
    first = [f"{figure.corpus} {_short(figure)}" for figure in measured if figure.name == classes[0]]
    full = [f"{f.name} by {f.labeller} on {f.corpus}, n {f.n}: {_long(f)}" for f in measured]
    full += [f"{name}: not measured" for name in classes if name not in {figure.name for figure in measured}]
    short = f"{classes[0]}: {', '.join(first) or 'not measured'}" if classes else unmeasured
    return {
        "short": short + ("; which fact: not measured" if classes and unmeasured == FACT else ""),
        "full": "; ".join([*full, *([unmeasured] if unmeasured else [])]),
    }


def _short(figure: LabellerFigure) -> str:
    """Precision/recall/F1 (F1 of the baseline)."""
    rates = "/".join(_two(rate) for rate in (figure.precision, figure.recall, figure.f1))
    return f"{rates} ({_two(figure.trivial)})" if figure.trivial else rates


def _two(rate: list[float] | None) -> str:
    return f"{rate[0]:.2f}".removeprefix("0") if rate else "–"


def _long(figure: LabellerFigure) -> str:
    rates = {"precision": figure.precision, "recall": figure.recall, "F1": figure.f1, "kappa": figure.kappa}
    rates |= {"F1 of the baseline": figure.trivial}
    return ", ".join(f"{name} {rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})" for name, rate in rates.items() if rate)

"""The exams by name, each imported when it is asked for: a module of this folder, or `NAME/NAME.py`, with an EXAM.

exams_of(experiment)      # those that a config includes, a file of your own among them (exams.include: [my.py:EXAM])
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

from evals.metrics.catalog import Catalog
from evals.metrics.metric import Metric
from evals.sitting.exam import Exam
from evals.sitting.sitting import COUNTED, NOTED
from pipeline.core.plugins import is_address, load_object
from pipeline.experiment.experiment import Experiment

HERE = Path(__file__).parent
USUAL = ("asking", "collapse", "grounding", "feedback")  # where a config names none


def _addresses() -> dict[str, str]:
    """Where each exam of this folder is, by name."""
    files = [path.stem for path in HERE.glob("*.py") if path.stem not in ("__init__", "registry")]
    folders = [path.name for path in HERE.iterdir() if (path / f"{path.name}.py").is_file()]
    modules = {name: name for name in files} | {name: f"{name}.{name}" for name in folders}
    return {name: f"evals.exams.{modules[name]}" for name in sorted(modules)}


EXAMS = _addresses()


def find_exam(name: str) -> Exam:
    """By its name here, or as `file.py:NAME`. Raises ConfigError where a file has no such exam, KeyError otherwise."""
    if is_address(name):
        return load_object(name, Exam)
    exam: Exam = importlib.import_module(EXAMS[name]).EXAM
    return exam


def included(experiment: Experiment) -> tuple[str, ...]:
    """Names of the exams of a config, in its order."""
    return experiment.exams.include or USUAL


def exams_of(experiment: Experiment) -> list[Exam]:
    """Those that a config includes, in its order."""
    return [find_exam(name) for name in included(experiment)]


def sat(name: str, experiment: Experiment) -> bool:
    """Whether a config includes the exam of that name, its own or one with metrics of somebody's (with_metrics)."""
    return any(exam.name == name for exam in exams_of(experiment))


def catalog(exams: Iterable[Exam]) -> Catalog:
    """Their metrics, and those of a sitting as a whole."""
    families: dict[str, tuple[Metric, ...]] = {}
    for exam in exams:  # of one name there may be several, one with somebody's own metrics
        there = families.get(exam.name, ())
        families[exam.name] = (*there, *(metric for metric in exam.metrics if metric not in there))
    return Catalog(families | {"exam": (*COUNTED, *NOTED)})


def catalog_of(experiments: Iterable[Experiment]) -> Catalog:
    """The metrics of all exams that any of some configs includes."""
    return catalog(exam for experiment in experiments for exam in exams_of(experiment))

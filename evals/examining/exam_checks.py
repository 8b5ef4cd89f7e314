"""What can be said of a config's exams before anything runs: names, keys, and the metrics that it compares.

Every command that loads a config asks it, so that nobody learns after a day of training that an exam was misspelt.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from evals.exams.registry import EXAMS, catalog, exams_of, find_exam, included
from evals.metrics.metric import metric_name
from evals.sitting.exam import Exam, asked, not_asked
from evals.sitting.exam_partners import ARMS
from evals.sitting.scaffold import check_scaffold
from evals.sitting.sitting import counted
from pipeline.core.config_reading import origin, valid
from pipeline.core.errors import ConfigError, meant
from pipeline.core.plugins import is_address
from pipeline.experiment.exam_settings import Exams
from pipeline.experiment.experiment import Experiment

RENAMED = {"disclosure": "support"}  # exams, and their sections


def check_exams(path: Path, experiment: Experiment, overrides: tuple[str, ...] = ()) -> None:
    """Raises ConfigError for an exam that is none, a key that no exam has, a value that its exam refuses, tasks that
    an exam cannot be sat on, and a contrast on a metric that the exams do not measure.
    """
    _check_names(path, experiment, overrides)
    exams = exams_of(experiment)
    _check_keys(path, experiment, exams, overrides)
    _check_fits(path, experiment, exams)
    check_scaffold(path, experiment)
    check_metrics(path, experiment)


def measured(experiment: Experiment) -> set[str]:
    """The ratios that the exams of a config can have cases of."""
    whole = {metric.name for metric in counted(experiment)}
    return whole.union(*(asked(exam, experiment) for exam in exams_of(experiment)))


def _check_names(path: Path, experiment: Experiment, overrides: tuple[str, ...]) -> None:
    where = f"{origin(path, overrides, 'exams.include')}: exams.include"
    for name in included(experiment):
        if name in RENAMED:
            raise ConfigError(f"{where}: no exam is called {name!r} any more. It is called {RENAMED[name]!r} now")
        if name not in EXAMS and not is_address(name):
            raise ConfigError(
                f"{where}: {name!r} is not an exam.{meant(name, EXAMS)} Known: {', '.join(EXAMS)}; one "
                "of your own is named by its file, as in my.py:EXAM"
            )
    try:
        names = Counter(exam.name for exam in exams_of(experiment))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if twice := [name for name, count in names.items() if count > 1]:
        raise ConfigError(f"{where}: {twice[0]!r} is there twice. Name each exam once")


def _check_keys(path: Path, experiment: Experiment, exams: list[Exam], overrides: tuple[str, ...]) -> None:
    keys = {key for exam in exams for key in _keys(exam)}
    for key in experiment.exams.own:
        if key not in keys:
            raise ConfigError(f"{origin(path, overrides, f'exams.{key}')}: exams.{key}: {_why_not(key, keys)}")
    for exam in exams:
        if shared := [key for key in _keys(exam) if key in Exams.model_fields]:
            raise ConfigError(f"{path}: exam {exam.name!r} declares the key {shared[0]!r}, which all exams share")
        if exam.options is not None:
            own = {key: value for key, value in experiment.exams.own.items() if key in _keys(exam)}
            valid(exam.options, path, own, overrides, under="exams")


def _keys(exam: Exam) -> list[str]:
    return [] if exam.options is None else list(exam.options.model_fields)


def _why_not(key: str, known: set[str]) -> str:
    """Why a key of `exams` is refused."""
    if key in RENAMED:
        return f"not a key any more. It is called {RENAMED[key]!r} now"
    if whose := [name for name in EXAMS if key in _keys(find_exam(name))]:
        return (
            f"a key of exam {whose[0]}, which is not sat. Add {whose[0]!r} to exams.include, or drop it "
            f"(--set exams.{key}=null)"
        )
    accepted = [*Exams.model_fields, *sorted(known)]
    return f"not a key here.{meant(key, accepted)} Known: {', '.join(accepted)}"


def _check_fits(path: Path, experiment: Experiment, exams: list[Exam]) -> None:
    refused = [exam.name for exam in exams if experiment.source.has_programs and not exam.programs]
    if refused:
        able = ", ".join(name for name in EXAMS if find_exam(name).programs)
        raise ConfigError(
            f"{path}: exams.include: {', '.join(refused)} would compare answers as values, and those of code tasks "
            f"are programs. Known there: {able}"
        )
    for exam in exams:
        if exam.check is not None:
            try:
                exam.check(experiment)
            except ValueError as error:
                raise ConfigError(f"{path}: {error}") from None


def check_metrics(path: Path, experiment: Experiment) -> None:
    """Raises ConfigError where a contrast names a metric that the config's exams do not measure."""
    if experiment.compare is None:
        return
    named = {f"{key}.metric": contrast.metric for key, contrast in experiment.compare.named.items()}
    named |= {f"compare.transfer.{heading}": metric for heading, metric in experiment.compare.transfer.items()}
    named |= {f"compare.shapes.{heading}": metric for heading, metric in experiment.compare.shapes.items()}
    exams, there = exams_of(experiment), measured(experiment)
    known = catalog(exams)
    for key, metric in named.items():
        absent = sorted(known.signed_sum(metric).weights.keys() - there)
        if not absent:
            continue
        if beyond := sorted({ratio for exam in exams for ratio in not_asked(exam, experiment)} & set(absent)):
            raise ConfigError(
                f"{path}: {key}: {metric!r} needs a real model: {experiment.student.model!r}, an embedded base, cannot "
                f"be asked for {', '.join(beyond)}. Name another student.model, or leave the metric out."
            )
        raise ConfigError(f"{path}: {key}: {_not_measured(metric, experiment, there)}")


def _not_measured(metric: str, experiment: Experiment, there: set[str]) -> str:
    """Why no exam of the config measures it; what no exam has is told with the nearest that one has."""
    shipped = [find_exam(name) for name in EXAMS]
    every = catalog({exam.name: exam for exam in (*shipped, *exams_of(experiment))}.values())
    if every.metric(metric) is None:
        known = list(dict.fromkeys(declared.name for declared in every.metrics))
        return f"{metric!r} is not a metric.{meant(metric, known)} Known: {', '.join(known)}"
    absent = sorted(every.signed_sum(metric).weights.keys() - there)
    scoped = sorted(ratio for ratio in there if metric_name(ratio) in map(metric_name, absent))
    hint = f" Measured of it: {', '.join(scoped)}." if scoped else ""
    return (
        f"{metric!r} needs {', '.join(absent)}, which the exams of this config do not measure.{hint} exams.include is "
        f"{', '.join(included(experiment))}; whole episodes are measured by partner: "
        f"{', '.join('@' + arm for arm in ARMS)}."
    )

"""What students who copy their rows would ask: by condition and seed the share of rows that begin with a question.

    maieutic build configs/shapes.yaml
    python -m evals.report.shapes.open_rows runs/shapes --kept 0.64 0.98

A first turn counts as exam `narrowing` counts it, which asks it on underspecified tasks: so `lacking`, the share of
rows on these, is what a student does who copies them. On a full task any fact that is asked for counts. So `rows`, the
share of all rows, is what a student does who copies them and does not tell the two kinds of task apart. `played`: of
all first turns on underspecified tasks. `exam`: what the student did, once it has sat the exam. `right`: of first turns
on full tasks those that put the right option forward, which says whether the base reads. `repeats`: of the options put
forward in its rows after a first one, those that had been before. Where the question is dealt to both parties the
student always lacks a part of it, so any fact that is asked for counts on every task.

With `--kept OPEN CLOSED` comes what a student would ask who keeps these shares of its rows' questions
(as others were found to), and what it asked beyond that. Then comes, of the two conditions of the primary contrast, and
of every other that the config names on such questions, what students do less than their rows, and differences: of the
rows before any exam, of the exam less either, and less the one share of them that all students keep. Intervals are t
intervals over seeds (Student 1908) with tasks fixed, so they are too narrow for other tasks.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from evals.exams.narrowing.exchanges import exchanges, tried
from evals.exams.narrowing.narrowing import of_questions
from evals.metrics.case_file import cases_of
from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.datasets.dataset_files import stream_rows
from pipeline.datasets.rows import Row
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import Compare
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue
from pipeline.reading.stored import is_right
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.directory import experiment_of
from pipeline.runs.store import read
from pipeline.runs.student_files import results_path

ACTS = ("open_question", "closed_question")


class First(NamedTuple):
    """A dialogue's first turn. `kept`: how often a student learned from it."""

    seed: int
    missing: bool
    acts: dict[str, float]
    right: bool
    kept: int
    repeats: tuple[bool, ...] = ()  # of each option put forward after the first, whether it had been before


class Shares(NamedTuple):
    """Of one student, with how many there were of each; NaN of none."""

    played: float
    rows: float
    lacking: float
    exam: float
    right: float
    repeats: float
    n: tuple[int, int, int]  # dialogues on underspecified tasks, rows, rows on underspecified tasks


def firsts(experiment: Experiment, condition_name: str) -> list[First]:
    """Raises RunError where the condition was not built, ConfigError where its rows are no whole dialogues."""
    times = {row["id"]: _times(row) for row in stream_rows(experiment, condition_name)}
    pool = experiment.conditions[condition_name].learns_from or condition_name
    found = {
        each.id: _first(each, times.get(each.id, 0)) for each in read(dialogues_path(experiment.run, pool), Dialogue)
    }
    if apart := times.keys() - found.keys():
        raise ConfigError(
            f"{experiment.run}: {len(apart)} rows of {condition_name!r} are no dialogues of {pool!r}, such as "
            f"{min(apart)!r}. Expected a condition that learns from whole dialogues alone"
        )
    return list(found.values())


def _times(row: Row) -> int:
    """How often a student learned from it; rows that did not fit a matched budget are in the dataset, too."""
    return int(row.get("times", 1)) if row.get("matched", True) else 0


def _first(dialogue: Dialogue, kept: int) -> First:
    task, turns = dialogue.task, dialogue.turns[:1]
    knows = known(task, dialogue.condition, "student")
    said = exchanges(task, knows.facts, turns)
    acts, right = dict(of_questions(task, said)), bool(is_right(task, turns, 0))
    if not task.missing or knows.share:
        acts["open_question"] = float(said[0].question is not None and not said[0].does.whether)
    named = tried(exchanges(task, knows.facts, dialogue.turns))
    repeats = tuple(name in named[:i] for i, name in enumerate(named) if i)
    return First(
        seed=dialogue.seed,
        missing=bool(task.missing) or knows.share,
        acts=acts,
        right=right,
        kept=kept,
        repeats=repeats,
    )


def shares(cell: Cell, act: str, of: Iterable[First]) -> Shares:
    """Of the cell's seed."""
    own = [first for first in of if first.seed == cell.seed]
    lacking = [first for first in own if first.missing]
    rows, short = ([first for first in some for _ in range(first.kept)] for some in (own, lacking))
    file = results_path(cell)
    cases = [case for case in (cases_of(file) if file.is_file() else []) if case.metric == act and not case.greedy]
    return Shares(
        played=_mean([first.acts[act] for first in lacking]),
        rows=_mean([first.acts[act] for first in rows]),
        lacking=_mean([first.acts[act] for first in short]),
        exam=sum(case.hits for case in cases) / sum(case.n for case in cases) if cases else math.nan,
        right=_mean([float(first.right) for first in own if not first.missing]),
        repeats=_mean([float(each) for first in rows for each in first.repeats]),
        n=(len(lacking), len(rows), len(short)),
    )


def over_seeds(values: list[float]) -> tuple[float, float, float]:
    """Mean and t interval; NaN of fewer than two seeds, and where a value is none."""
    if len(values) < 2:
        return _mean(values), math.nan, math.nan
    half = float(stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1)) / math.sqrt(len(values))
    return fmean(values), fmean(values) - half, fmean(values) + half


def _mean(values: list[float]) -> float:
    return fmean(values) if values else math.nan


def lines(experiment: Experiment, kept: tuple[float, float] | None = None) -> Iterator[str]:
    """What the command prints. Raises ConfigError for tasks without options, RunError for what is not built."""
    if not experiment.source.has_options:
        raise ConfigError(f"{experiment.run}: its tasks have no options. Expected a run of tasks.source: hidden_item")
    if experiment.compare is None:
        raise ConfigError(f"{experiment.run}: its config compares nothing, so no two conditions are named")
    primary = (experiment.compare.primary.a, experiment.compare.primary.b)
    if unknown := {*primary} - {*experiment.conditions}:
        raise ConfigError(f"{experiment.run}: compare.primary names {min(unknown)!r}, which learned from no rows")
    if experiment.rounds > 1 or any(experiment.conditions[name].method != "sft" for name in primary):
        raise ConfigError(
            f"{experiment.run}: expected one round, and two conditions of method sft, whose rows are talks"
        )
    heads = (
        "act",
        "condition",
        "seed",
        "played",
        "rows",
        "lacking",
        "exam",
        "right",
        "repeats",
        "n played",
        "n rows",
        "n lacking",
    )
    yield "  ".join(f"{head:>15}" for head in heads)
    learned = [name for name, condition in experiment.conditions.items() if condition.method == "sft"]
    begun = {name: firsts(experiment, name) for name in learned}
    for act in ACTS:
        found: dict[str, list[Shares]] = {}
        for name, of in begun.items():
            found[name] = [shares(Cell(experiment, name, seed), act, of) for seed in experiment.seeds]
            for seed, each in zip(experiment.seeds, found[name], strict=True):
                row = (act, name, seed, *(f"{value:.3f}" for value in each[:6]), *each.n)
                yield "  ".join(f"{cell:>15}" for cell in row)
        if kept is not None:
            yield from _levels(act, kept[ACTS.index(act)], found)
        for pair in pairs_of(experiment, experiment.compare):
            yield from _compared(act, pair, found)


def pairs_of(experiment: Experiment, compare: Compare) -> list[tuple[str, str]]:
    """The primary contrast's two conditions, then those of others on these questions that learned from rows."""
    learned = {name for name, condition in experiment.conditions.items() if condition.method == "sft"}
    others = [each for each in compare.named.values() if each.metric in ACTS and {each.a, each.b} <= learned]
    return list(dict.fromkeys((each.a, each.b) for each in (compare.primary, *others)))


def _levels(act: str, kept: float, found: dict[str, list[Shares]]) -> Iterator[str]:
    for name, each in found.items():
        yield _line(f"{act}, {kept:.2f} of rows: {name}", [kept * one.rows for one in each])
        yield _line(f"{act}, exam less {kept:.2f} of rows: {name}", [one.exam - kept * one.rows for one in each])


def _compared(act: str, pair: tuple[str, str], found: dict[str, list[Shares]]) -> Iterator[str]:
    a, b = pair
    pairs, every = list(zip(found[a], found[b], strict=True)), found[a] + found[b]
    rows = sum(each.rows for each in every)
    kept = sum(each.exam for each in every) / rows if rows else math.nan
    for name in (a, b):
        yield _line(f"{act}, exam less rows: {name}", [each.exam - each.rows for each in found[name]])
    differences = {
        "rows": [one.rows - other.rows for one, other in pairs],
        "lacking": [one.lacking - other.lacking for one, other in pairs],
        "exam": [one.exam - other.exam for one, other in pairs],
        "exam less rows": [(one.exam - one.rows) - (other.exam - other.rows) for one, other in pairs],
        "exam less lacking": [(one.exam - one.lacking) - (other.exam - other.lacking) for one, other in pairs],
    }
    if not math.isnan(kept):
        for what in ("rows", "lacking"):
            both = zip(differences["exam"], differences[what], strict=True)
            differences[f"exam less {kept:.2f} of {what}"] = [of_exam - kept * of_rows for of_exam, of_rows in both]
    for what, values in differences.items():
        yield _line(f"{act}, {what}: {a} - {b}", values)


def _line(what: str, values: list[float]) -> str:
    mean, low, high = over_seeds(values)
    return f"{what} {mean:+.3f} ({low:+.3f} to {high:+.3f}, {len(values)} seeds)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument(
        "--kept",
        type=float,
        nargs=2,
        metavar=("OPEN", "CLOSED"),
        help="the shares of its rows' questions that it keeps",
    )
    options = parser.parse_args()
    try:
        for line in lines(experiment_of(options.run), options.kept):
            print(line)
    except MaieuticError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()

"""Conditions matched to one budget: as many of the student's tokens, on the same mix of tasks (`training.regime`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from datasets import Features, Value

from pipeline.core.schema import digest
from pipeline.datasets.dataset_files import dataset_path, stream_rows
from pipeline.datasets.formats import FORMATS, write_rows
from pipeline.datasets.rows import Row
from pipeline.experiment.experiment import Experiment

MATCHED = Features({**FORMATS["sft"], "matched": Value("bool")})


class Match(NamedTuple):
    """What matching kept of one condition, in one seed and round. Tokens are the student's, learned ones only."""

    condition_name: str
    seed: int
    round: int
    rows: int
    kept: int
    tokens: int
    kept_tokens: int
    tasks: int  # that its kept rows are of
    common: int  # of these, tasks that every condition has kept rows of


def match(rows: dict[str, list[Row]], tokens_of: Callable[[Row], int]) -> tuple[dict[str, set[str]], list[Match]]:
    """Ids of the rows to keep of each condition, so that all train on as much, and on the same mix. Conditions that
    learn from the same dialogues have rows of the same ids.

    Per seed and round: the tasks that every condition has rows for, as many dialogues of each as the
    scarcest condition has, and then whole dialogues, in one order of tasks for all, up to the smallest
    condition's student tokens; where one does not fit, shorter ones behind it may. Totals agree to within one
    dialogue. Who says more in a dialogue comes to fewer of them, so to fewer of the tasks: `tasks` counts them. All
    choices go by hash. A condition without rows is left out, since it would match the others to nothing.
    """
    keep: dict[str, set[str]] = {name: set() for name in rows}
    reports: list[Match] = []
    for seed, round in sorted({(row["seed"], row["round"]) for part in rows.values() for row in part}):
        parts = {
            name: [row for row in part if (row["seed"], row["round"]) == (seed, round)] for name, part in rows.items()
        }
        parts = {name: part for name, part in parts.items() if part}
        counts = [Counter(row["task_id"] for row in part) for part in parts.values()]
        share = {task: min(count[task] for count in counts) for task in counts[0]}  # 0 where one lacks it
        chosen = {name: _first_of_each(part, share) for name, part in parts.items()}
        budget = min(sum(map(tokens_of, part)) for part in chosen.values())
        fit = {name: _within(part, budget, tokens_of) for name, part in chosen.items()}
        tasks = {name: {row["task_id"] for row in kept} for name, kept in fit.items()}
        common = len(set.intersection(*tasks.values()))
        for name, kept in fit.items():
            keep[name] |= {row["id"] for row in kept}
            reports.append(
                Match(
                    condition_name=name,
                    seed=seed,
                    round=round,
                    rows=len(parts[name]),
                    kept=len(kept),
                    tokens=sum(map(tokens_of, parts[name])),
                    kept_tokens=sum(map(tokens_of, kept)),
                    tasks=len(tasks[name]),
                    common=common,
                )
            )
    return keep, reports


def _within(rows: Iterable[Row], budget: int, tokens_of: Callable[[Row], int]) -> list[Row]:
    kept, total = list[Row](), 0
    for row in rows:
        if total + tokens_of(row) <= budget:
            kept.append(row)
            total += tokens_of(row)
    return kept


def _first_of_each(rows: Iterable[Row], share: dict[str, int]) -> list[Row]:
    """At most `share[task]` rows of each task, tasks in the order of their hash, rows in that of theirs."""
    by_task: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: digest(row["id"])):
        if len(by_task[row["task_id"]]) < share.get(row["task_id"], 0):
            by_task[row["task_id"]].append(row)
    return [row for task in sorted(by_task, key=digest) for row in by_task[task]]


def mark_matched(experiment: Experiment, tokens_of: Callable[[Row], int]) -> list[Match]:
    """Match the datasets of all conditions whose regime it is, and add the boolean column `matched` to each.

    Conditions that are restricted to other specifications or sources cannot have the same tasks: they are matched
    among themselves. `tokens_of` is `training.trainers.sft.token_counter(experiment)`.
    """
    groups: dict[Any, dict[str, list[Row]]] = defaultdict(dict)
    for name in experiment.with_regime("matched"):
        groups[frozenset(experiment.stretches(name))][name] = [
            {**{key: row[key] for key in ("id", "task_id", "seed", "round")}, "tokens": tokens_of(row)}
            for row in stream_rows(experiment, name)
        ]
    reports: list[Match] = []
    for datasets in groups.values():
        keep, made = match(datasets, lambda row: int(row["tokens"]))
        reports += made
        for name in datasets:
            rows = ({**row, "matched": row["id"] in keep[name]} for row in stream_rows(experiment, name))
            write_rows(dataset_path(experiment, name), rows, MATCHED)
    return reports

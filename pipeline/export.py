"""Selected dialogues to datasets: Parquet that TRL reads, with a card beside it.

A row's messages are the student's view of one dialogue and nothing else, so no private fact reaches
a dataset but through the text of a turn. `learn` marks the messages that carry loss; they are all the
student's own. Files are replaced whole: a reader sees the old dataset or the new one.

    maieutic build configs/quickstart.yaml     # writes runs/quickstart/datasets/<condition>/
"""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet
from datasets import Features, List, Value

from pipeline.acts import attempts
from pipeline.card import card
from pipeline.config import Experiment
from pipeline.schema import Dialogue, digest
from pipeline.verify import equal
from pipeline.view import view

Row = dict[str, Any]
ROW_GROUP = 1000  # rows that are held at once
COLUMNS = {
    "id": Value("string"),
    "task_id": Value("string"),
    "seed": Value("int64"),
    "round": Value("int64"),
    "specification": Value("string"),
    "messages": List({"role": Value("string"), "content": Value("string")}),
    "learn": List(Value("bool")),
}


class ExportReport(NamedTuple):
    """Counts that reconcile: selected == rows + nothing_learned."""

    condition: str
    selected: int
    rows: int
    nothing_learned: int  # selected, but no turn would carry loss
    path: Path


class Match(NamedTuple):
    """What matching kept of one condition, in one seed and round. Tokens are the student's, learned ones only."""

    condition: str
    seed: int
    round: int
    rows: int
    kept: int
    tokens: int
    kept_tokens: int


def learned(dialogue: Dialogue, which: str) -> list[bool]:
    """Whether each turn carries loss. `which` is `training.learn` of the config.

    all: every student turn. after_last_error: the student's turns after its last wrong attempt (all, if it
    made none). final: only the student's last attempt, if that is right.
    """
    own = [i for i, turn in enumerate(dialogue.turns) if turn.party == "student"]
    said = {i: answer for i, answer in enumerate(attempts(dialogue)) if i in own}
    right = {i: equal(answer, dialogue.task.answer) for i, answer in said.items() if answer is not None}
    if which == "final":
        last = max(right, default=None)
        chosen = {last} if last is not None and right[last] else set()
    elif which == "after_last_error":
        last_error = max((i for i, is_right in right.items() if not is_right), default=-1)
        chosen = {i for i in own if i > last_error}
    else:
        chosen = set(own)
    # A turn that was cut has no end; to train on it would teach to stop there.
    return [i in chosen and turn.finished for i, turn in enumerate(dialogue.turns)]


def to_row(experiment: Experiment, dialogue: Dialogue) -> Row | None:
    """The training row of one dialogue, up to the student's last turn; None where nothing would be learned."""
    own = [i for i, turn in enumerate(dialogue.turns) if turn.party == "student"]
    learn = learned(dialogue, experiment.training.learn)
    if not any(learn):
        return None
    condition = experiment.conditions[dialogue.condition]
    messages = view(dialogue.task, condition, dialogue.turns[: own[-1] + 1], "student", experiment.student.system)
    replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    carries = {message for turn, message in zip(own, replies, strict=True) if learn[turn]}
    return {
        "id": dialogue.id,
        "task_id": dialogue.task.id,
        "seed": dialogue.seed,
        "round": dialogue.round,
        "specification": dialogue.task.specification,
        "messages": messages,
        "learn": [i in carries for i in range(len(messages))],
    }


def export(experiment: Experiment, condition: str, dialogues: Collection[Dialogue]) -> ExportReport:
    """Write datasets/<condition>/sft/train.parquet and the card, a row per dialogue in their order.

    `dialogues` are the selected ones of this condition, of all seeds and rounds.
    """
    folder = dataset_path(experiment, condition)
    rows = write_rows(folder, filter(None, (to_row(experiment, dialogue) for dialogue in dialogues)))
    report = ExportReport(condition, len(dialogues), rows, len(dialogues) - rows, folder)
    _replace(
        folder.parent / "README.md",
        lambda path: path.write_text(card(experiment, condition, dialogues, rows), encoding="utf-8"),
    )
    return report


def dataset_path(experiment: Experiment, condition: str) -> Path:
    return experiment.run / "datasets" / condition / "sft"


def write_rows(folder: Path, rows: Iterable[Row], matched: bool = False) -> int:
    """Replace the Parquet file of a dataset, `matched` says whether rows have that column. Returns their number."""
    columns = Features({**COLUMNS, "matched": Value("bool")} if matched else COLUMNS)
    schema, written, rest = columns.arrow_schema, 0, iter(rows)  # its metadata tells `datasets` the features

    def write(path: Path) -> None:
        nonlocal written
        with parquet.ParquetWriter(path, schema) as file:
            while part := list(itertools.islice(rest, ROW_GROUP)):
                file.write_table(pa.Table.from_pylist(part, schema=schema))
                written += len(part)

    _replace(folder / "train.parquet", write)
    return written


def stream_rows(experiment: Experiment, condition: str) -> Iterator[Row]:
    """The rows of a condition's dataset, some held at once. Raises FileNotFoundError where it was not built."""
    files = sorted(dataset_path(experiment, condition).glob("*.parquet"))
    if not files:
        raise FileNotFoundError(
            f"{dataset_path(experiment, condition)}: no Parquet files; run `maieutic build` on this config first"
        )
    for file in files:
        with parquet.ParquetFile(file) as table:
            for part in table.iter_batches(ROW_GROUP):
                yield from part.to_pylist()


def read_rows(experiment: Experiment, condition: str) -> list[Row]:
    """All rows of `stream_rows`, held."""
    return list(stream_rows(experiment, condition))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")  # what a kill leaves of it, the next export replaces
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def match(rows: dict[str, list[Row]], tokens_of: Callable[[Row], int]) -> tuple[set[str], list[Match]]:
    """Ids of the rows to keep so that every condition trains on as much, and on the same mix.

    Per seed and round: the tasks that every condition has rows for, as many dialogues of each as the
    scarcest condition has, and then whole dialogues, in one order of tasks for all, up to the smallest
    condition's student tokens. Totals agree to within one dialogue; there the last few tasks differ. All
    choices go by hash. A condition without rows is left out, since it would match the others to nothing.
    """
    keep: set[str] = set()
    reports: list[Match] = []
    for cell in sorted({(row["seed"], row["round"]) for part in rows.values() for row in part}):
        parts = {name: [row for row in part if (row["seed"], row["round"]) == cell] for name, part in rows.items()}
        parts = {name: part for name, part in parts.items() if part}
        counts = [Counter(row["task_id"] for row in part) for part in parts.values()]
        share = {task: min(count[task] for count in counts) for task in counts[0]}  # 0 where one lacks it
        chosen = {name: _first_of_each(part, share) for name, part in parts.items()}
        budget = min(sum(map(tokens_of, part)) for part in chosen.values())
        for name, part in chosen.items():
            kept, total = [], 0
            for row in part:
                if total + tokens_of(row) <= budget:
                    kept.append(row)
                    total += tokens_of(row)
            keep |= {row["id"] for row in kept}
            reports.append(Match(name, *cell, len(parts[name]), len(kept), sum(map(tokens_of, parts[name])), total))
    return keep, reports


def _first_of_each(rows: Iterable[Row], share: dict[str, int]) -> list[Row]:
    """At most `share[task]` rows of each task, tasks in the order of their hash, rows in that of theirs."""
    by_task: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: digest(row["id"])):
        if len(by_task[row["task_id"]]) < share.get(row["task_id"], 0):
            by_task[row["task_id"]].append(row)
    return [row for task in sorted(by_task, key=digest) for row in by_task[task]]


def mark_matched(experiment: Experiment, tokens_of: Callable[[Row], int]) -> list[Match]:
    """Match the datasets of all conditions and add the boolean column `matched` to each.

    Conditions that are restricted to other specifications cannot have the same tasks: they are matched
    among themselves. `tokens_of` is `training.sft.token_counter(experiment)`.
    """
    groups: dict[Any, dict[str, list[Row]]] = defaultdict(dict)
    for name, condition in experiment.conditions.items():
        groups[condition.specifications][name] = [
            {**{key: row[key] for key in ("id", "task_id", "seed", "round")}, "tokens": tokens_of(row)}
            for row in stream_rows(experiment, name)
        ]
    reports: list[Match] = []
    for datasets in groups.values():
        keep, made = match(datasets, lambda row: int(row["tokens"]))
        reports += made
        for name in datasets:
            rows = ({**row, "matched": row["id"] in keep} for row in stream_rows(experiment, name))
            write_rows(dataset_path(experiment, name), rows, True)
    return reports

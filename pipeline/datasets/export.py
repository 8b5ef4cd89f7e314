"""Selected dialogues to datasets: Parquet that TRL reads, with a card beside it.

A row's messages are the student's view of one dialogue and nothing else, so no private fact reaches
a dataset but through the text of a turn. `learn` marks the messages that carry loss; they are all the
student's own. Files are replaced whole: a reader sees the old dataset or the new one.

    maieutic build configs/quickstart.yaml     # writes runs/quickstart/datasets/<condition>/
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet
from datasets import Features, Value

from pipeline.core.files import write_whole, written_whole
from pipeline.core.schema import digest
from pipeline.datasets.card import card
from pipeline.datasets.formats import FORMAT_OF, FORMATS, Format, NotExportable, pool_of, rows
from pipeline.datasets.rows import Row
from pipeline.experiment.experiment import Experiment
from pipeline.judging.violations import violations
from pipeline.knowledge.records import Dialogue
from pipeline.runs.pool import Pool
from pipeline.runs.progress import say

ROW_GROUP = 1000  # rows that are held at once
MATCHED = Features({**FORMATS["sft"], "matched": Value("bool")})


class ExportReport(NamedTuple):
    """Counts of one condition. Of all but pairs a record gives one row: taken == rows + nothing_learned."""

    condition_name: str
    taken: int  # what the method takes of the pool: selected dialogues, all dialogues, or branches
    rows: int
    nothing_learned: int  # taken, but it teaches nothing
    path: Path


class Match(NamedTuple):
    """What matching kept of one condition, in one seed and round. Tokens are the student's, learned ones only."""

    condition_name: str
    seed: int
    round: int
    rows: int
    kept: int
    tokens: int
    kept_tokens: int


def export(experiment: Experiment, condition_name: str, format: Format | None = None) -> ExportReport:
    """Write a condition's rows into datasets/<condition>/<format>/train.parquet, and the card.

    Without a format it is what the condition's method learns from. Raises NotExportable (pipeline.datasets.formats).
    """
    trains = FORMAT_OF[experiment.conditions[condition_name].method]
    folder = dataset_path(experiment, condition_name).with_name(format or trains)
    taken, found = rows(experiment, condition_name, format or trains)
    empty = 0

    def flat() -> Iterator[Row]:
        nonlocal empty
        for some in found:
            empty += not some
            yield from some

    written = write_rows(folder, flat(), FORMATS[format or trains])
    if folder.name == trains:  # others were made of the same dialogues
        for other in (one for one in FORMATS if one != trains and (folder.with_name(one) / "train.parquet").exists()):
            write_rows(
                folder.with_name(other),
                itertools.chain.from_iterable(rows(experiment, condition_name, other)[1]),
                FORMATS[other],
            )
    files = {one: folder.with_name(one) / "train.parquet" for one in FORMATS}
    counts = {one: parquet.read_metadata(path).num_rows for one, path in files.items() if path.exists()}
    text = card(experiment, condition_name, pool_of(experiment, condition_name, trains), {trains: 0} | counts)
    write_whole(folder.parent / "README.md", text)
    with written_whole(folder.parent / "violations.jsonl") as temporary:
        _write_violations(temporary, Pool(experiment, condition_name))
    return ExportReport(condition_name, taken, written, empty, folder)


def _write_violations(path: Path, dialogues: Iterable[Dialogue]) -> None:
    """A line for each dialogue whose partner violated its knowledge constraint: the tag by which a reader of the
    rows finds them."""
    with path.open("w", encoding="utf-8") as file:
        for dialogue in dialogues:
            if found := violations(dialogue):
                tag = {"id": dialogue.id, "violations": [violation._asdict() for violation in found]}
                file.write(json.dumps(tag, ensure_ascii=False) + "\n")


def dataset_path(experiment: Experiment, condition_name: str) -> Path:
    """The folder of the format that the condition's method learns from."""
    return experiment.run / "datasets" / condition_name / FORMAT_OF[experiment.conditions[condition_name].method]


def known(name: str) -> Format:
    """A format by its name. Raises NotExportable."""
    if name not in FORMATS:
        raise NotExportable(f"FORMAT: {name!r} is not a format. Known: {', '.join(FORMATS)}")
    return name


def export_all(experiment: Experiment, name: str) -> None:
    """`export` of every condition that has rows in a format. Raises NotExportable where none has."""
    format, done = known(name), 0
    for condition in experiment.conditions:
        if not dataset_path(experiment, condition).is_dir():
            say(
                f"left out: {condition} has no dataset yet. `maieutic build` makes it, or `maieutic run` where it waits"
            )
            continue
        if format == FORMAT_OF[experiment.conditions[condition].method]:
            say(f"export {condition}: {format} is what its method learns from, it is there already")
            done += 1
            continue
        try:
            report = export(experiment, condition, format)
        except NotExportable as error:
            say(f"left out: {error}")
            continue
        done += 1
        say(f"export {condition}: {report.rows} rows in {report.path}")
    if not done:
        raise NotExportable(f"FORMAT: no condition has rows in {format!r}; the reasons stand above")


def write_rows(folder: Path, rows: Iterable[Row], columns: Features = FORMATS["sft"]) -> int:
    """Replace the Parquet file of a dataset. Returns how many rows it has."""
    schema, written, rest = columns.arrow_schema, 0, iter(rows)  # its metadata tells `datasets` the features
    with written_whole(folder / "train.parquet") as temporary, parquet.ParquetWriter(temporary, schema) as file:
        while part := list(itertools.islice(rest, ROW_GROUP)):
            file.write_table(pa.Table.from_pylist(part, schema=schema))
            written += len(part)
    return written


def stream_rows(experiment: Experiment, condition_name: str) -> Iterator[Row]:
    """The rows of a condition's dataset, some held at once. Raises FileNotFoundError where it was not built."""
    files = sorted(dataset_path(experiment, condition_name).glob("*.parquet"))
    if not files:
        raise FileNotFoundError(
            f"{dataset_path(experiment, condition_name)}: no Parquet files; run `maieutic build` on this config first"
        )
    for file in files:
        with parquet.ParquetFile(file) as table:
            for part in table.iter_batches(ROW_GROUP):
                yield from part.to_pylist()


def read_rows(experiment: Experiment, condition_name: str) -> list[Row]:
    """All rows of `stream_rows`, held."""
    return list(stream_rows(experiment, condition_name))


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
            write_rows(dataset_path(experiment, name), rows, MATCHED)
    return reports

"""Counts of one condition, derived from its files: dialogues, failures, dataset, adapters.

tasks x per_task x seeds x rounds = dialogues + failures, and rows <= selected <= dialogues: a selected
dialogue in which nothing would be learned gives no row. What does not add up comes back in words.
Malformed source rows (`bad_task`) are failures too, of no task.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as parquet

from evals.metrics.metric import Metric
from evals.metrics.reader import Reader
from evals.stats.intervals import Cells, pooled
from evals.stats.wording_shortcut import Wording, wording
from pipeline.building.turn_values import has_turn_values
from pipeline.core.schema import Json
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.rejection_sampling import selected as selected_of
from pipeline.datasets.survey import surveyed
from pipeline.experiment.experiment import Experiment
from pipeline.judging.moves import move
from pipeline.judging.outcome import is_correct, is_grounded
from pipeline.judging.stated_leak import leak_stated, privileged
from pipeline.judging.violations import Kind, audited, violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Failure, Memory
from pipeline.reading.stored import student_reading
from pipeline.runs.dialogue_pool import Pool, branches_path
from pipeline.runs.store import read

# What is said of a condition's dialogues, beside the metrics of its exams.
OF_DIALOGUES = (
    Metric(
        "lucky",
        "right, though a needed fact was missing and never given / dialogues on underspecified tasks",
        reader=Reader(("attempt", "tells")),
    ),
    # The classes: first by the rule where a rule speaks, then by that for others.
    Metric(
        "leak_stated",
        "the partner stated the answer that it was not to say / dialogues with a partner that held it",
        reader=Reader(("reveals_stated",), ("leak", "leak_people")),
    ),
    Metric(
        "violated",
        "the partner violated its knowledge constraint / dialogues in which a partner spoke whose violations are seen",
        reader=Reader(unmeasured="not measured: no corpus has a label for it, see docs/partner_audit.md"),
    ),
)


class Seen(NamedTuple):
    """What is counted of a dialogue; it takes a hundredth of the dialogue's memory."""

    id: str
    own: bool  # played whole, and not from a branch
    task: str
    specification: str
    seed: int
    round: int
    missing: bool  # the question lacks a needed fact
    asks: bool  # for such a fact, or naming none, in the first turn
    lucky: bool  # right, though a needed fact was missing and never given
    leaks: bool
    audited: bool  # a partner spoke whose violations can be seen
    violations: frozenset[Kind]
    kept: bool  # trained on


class DatasetRow(NamedTuple):
    """What is counted of a row of a dataset."""

    id: str
    task_id: str
    specification: str
    seed: int
    round: int
    matched: bool = True  # of a dataset that is not matched every row was trained on
    times: int = 1


class Files(NamedTuple):
    """What a condition has on disk beside its dialogues. `format` is that of its dataset, `kept` the ids that training
    saw, `branches` the tokens sampled for each branch."""

    format: str
    failures: list[Failure]
    rows: list[DatasetRow]
    selected: set[str]
    kept: set[str]
    branches: dict[str, int]
    lost_branches: int
    trained: list[Json]  # a record for each adapter


class Pooled(NamedTuple):
    """What is counted over a condition's pool of dialogues; turns and tokens by party, of those played whole alone."""

    dialogues: list[Seen]
    tasks: dict[str, Wording]
    turns: Counter[str]
    tokens: Counter[str]
    branches_wanted: int  # of turn values


def count(experiment: Experiment, condition_name: str) -> tuple[Json, dict[str, Wording], list[str]]:
    """Counts, budgets, leak and luck rates and the predicted ask rate; the tasks met; what does not reconcile."""
    condition, files = experiment.conditions[condition_name], _files(experiment, condition_name)
    pool = _pooled(experiment, condition_name, files)
    counts = {
        "tasks": len(pool.tasks.keys() | {f.task_id for f in files.failures if f.kind != "bad_task"}),
        "dialogues": sum(d.own for d in pool.dialogues),
        "failures": len(files.failures),
        "selected": len(files.selected),
        "rows": len(files.rows),
        "student_tokens": pool.tokens["student"],
        "partner_tokens": pool.tokens["partner"],
    }
    lacking = [d for d in pool.dialogues if d.missing]
    heard = [d for d in pool.dialogues if d.audited]
    entry: Json = {
        "counts": counts,
        "failure_kinds": dict(Counter(f.kind for f in files.failures)),
        "predicted": predict(pool.dialogues),
        "budgets": _budgets(experiment.run, condition, files, pool),
        "leak_stated": _share(pool.dialogues if privileged(condition) else [], lambda d: d.leaks),
        "lucky": _share(lacking, lambda d: d.lucky),
        "lucky_selected": _share((d for d in lacking if d.kept), lambda d: d.lucky),
        "violated": _share(heard, lambda d: bool(d.violations)),
        "violations": {kind: _share(heard, _commits(kind)) for kind in audited(condition)},
        "plumbing": experiment.has_planted_acts and condition.is_plumbing_on_embedded,
        "condition": condition.model_dump(mode="json"),
    }
    problems = (
        [] if condition.learns_from else reconcile(experiment, condition_name, counts, pool.dialogues, files.failures)
    )
    return entry, pool.tasks, [*problems, *_unlike(experiment, condition_name, files, pool)]


def _files(experiment: Experiment, condition_name: str) -> Files:
    run = experiment.run
    condition, folder = experiment.conditions[condition_name], dataset_path(experiment, condition_name)
    rows = [row for file in sorted(folder.glob("*.parquet")) for row in _rows(file)]
    selected = _selected(experiment, condition_name) if folder.is_dir() else set[str]()
    branches = read(branches_path(run, condition.learns_from or condition_name), Branch)
    lost = read(run / "branches" / "failures.jsonl", Failure)
    trained = sorted((run / "adapters" / condition_name).glob("seed-*/training.json"))
    return Files(
        format=folder.name,
        failures=[f for f in read(run / "failures.jsonl", Failure) if f.condition_name == condition_name],
        rows=rows,
        selected=selected,
        # Methods other than rejection sampling learn from more than what selection keeps.
        kept={row.id for row in rows if row.matched} if folder.name == "sft" else selected,
        branches={branch.id: tokens_of(branch) for branch in branches},
        lost_branches=sum(f.condition_name == condition_name for f in lost),
        trained=[json.loads(file.read_text(encoding="utf-8")) for file in trained],
    )


def _selected(experiment: Experiment, condition_name: str) -> set[str]:
    """Ids of the dialogues that rejection sampling keeps."""
    with surveyed(experiment, condition_name) as survey:
        return {record.id for record in selected_of(survey.dialogues, survey.condition)}


def _pooled(experiment: Experiment, condition_name: str, files: Files) -> Pooled:
    condition = experiment.conditions[condition_name]
    dialogues: list[Seen] = []
    tasks: dict[str, Wording] = {}
    turns, tokens, wanted = Counter[str](), Counter[str](), 0
    for place, dialogue in Pool(experiment, condition_name).placed():
        own = place.sibling < 0
        tasks.setdefault(dialogue.task.id, wording(dialogue.task))
        dialogues.append(see(dialogue, condition, files.kept, own))
        wanted += own * sum(at < (len(dialogue.turns) + 1) // 2 for at in experiment.turn_values.at)
        for turn in dialogue.turns if own else ():
            turns[turn.party] += 1
            tokens[turn.party] += turn.tokens
    return Pooled(dialogues=dialogues, tasks=tasks, turns=turns, tokens=tokens, branches_wanted=wanted)


def _budgets(run: Path, condition: Condition, files: Files, pool: Pooled) -> Json:
    # What was trained on; of students that play while they learn, what they play.
    met = [(row.task_id, row.specification) for row in files.rows] if files.format == "prompt_only" else []
    met = met or [(d.task, d.specification) for d in pool.dialogues if d.kept]
    lessons = read(run / "memory" / f"{condition.remembers}.jsonl", Memory)
    return {
        "turns": pool.turns.total(),
        "student_turns": pool.turns["student"],
        "distinct_tasks": len({task for task, _ in met}),
        "task_mix": dict(sorted(Counter(specification for _, specification in met).items())),
        "trained_rows": sum(t["rows"] for t in files.trained),
        "optimizer_steps": sum(t["optimizer_steps"] for t in files.trained),
        "trained_tokens": sum(t["trained_tokens"] for t in files.trained),
        "sampled_tokens": (pool.tokens["student"] if condition.voice != "human" else 0)
        + (pool.tokens["partner"] if condition.voice == "model" else 0)
        + sum(files.branches.values())
        + sum(memory.tokens for memory in lessons)
        + sum(t.get("sampled_tokens", 0) for t in files.trained),  # of students that play while they learn
    }


def tokens_of(branch: Branch) -> int:
    """Sampled for a branch, by models."""
    return branch.tokens("student") + (branch.tokens("partner") if branch.condition.voice == "model" else 0)


def see(dialogue: Dialogue, condition: Condition, kept: Container[str], own: bool = True) -> Seen:
    """Reduce a dialogue to what is counted of it."""
    missing = bool(dialogue.task.missing)
    return Seen(
        id=dialogue.id,
        own=own,
        task=dialogue.task.id,
        specification=dialogue.task.specification,
        seed=dialogue.seed,
        round=dialogue.round,
        missing=missing,
        asks=missing and _asks(dialogue),
        lucky=missing and is_correct(dialogue) and not is_grounded(dialogue),
        leaks=privileged(condition) and leak_stated(dialogue),
        audited=bool(audited(condition)) and any(turn.party == "partner" for turn in dialogue.turns),
        violations=frozenset(violation.kind for violation in violations(dialogue)),
        kept=dialogue.id in kept,
    )


def _commits(kind: Kind) -> Callable[[Seen], bool]:
    return lambda dialogue: kind in dialogue.violations


def _rows(file: Path) -> Iterator[DatasetRow]:
    there = [name for name in DatasetRow._fields if name in parquet.read_schema(file).names]
    table = parquet.read_table(file, columns=there)
    columns = zip(*(table[name].to_pylist() for name in there), strict=True)
    return (DatasetRow(**dict(zip(there, values, strict=True))) for values in columns)


def _share(dialogues: Iterable[Seen], test: Callable[[Seen], bool]) -> Json:
    """Value, interval over tasks and seeds, and n."""
    cells: Cells = {}
    for d in dialogues:
        hits, n = cells.get((d.seed, d.task), (0.0, 0))
        cells[d.seed, d.task] = hits + bool(test(d)), n + 1
    return pooled(cells)._asdict()


def predict(dialogues: list[Seen]) -> Json:
    """The ask rate that selection alone predicts, on underspecified tasks: p k_ask / (p k_ask + (1 - p) k_no), with
    its interval over the `kept` dialogues, and what it is made of, over all `n`.

    p: share of dialogues whose first turn asks for a missing needed fact, or naming none, and commits to nothing;
    k_ask, k_no: the share of each kind that was trained on. Of several rounds the last counts, since the student had
    moved before it.
    """
    last = max((d.round for d in dialogues), default=0)
    pool = [d for d in dialogues if d.round == last and d.missing]
    # What the formula comes to: the share of asking dialogues among those kept.
    predicted = _share((d for d in pool if d.kept), lambda d: d.asks)
    return {
        "ask_rate": predicted["value"],
        "low": predicted["low"],
        "high": predicted["high"],
        "kept": predicted["n"],
        "prior": _share(pool, lambda d: d.asks)["value"],
        "keep_ask": _share((d for d in pool if d.asks), lambda d: d.kept)["value"],
        "keep_no": _share((d for d in pool if not d.asks), lambda d: d.kept)["value"],
        "n": len(pool),
    }


def _asks(dialogue: Dialogue) -> bool:
    first = next(i for i, turn in enumerate(dialogue.turns) if turn.party == "student")
    return move(dialogue.task, student_reading(dialogue.task, dialogue.turns, first)) in ("ask", "ask_generic")


def reconcile(
    experiment: Experiment, condition_name: str, counts: Json, dialogues: list[Seen], failures: list[Failure]
) -> list[str]:
    """What does not add up, in words; nothing where a condition was never built."""
    condition, problems = experiment.conditions[condition_name], []
    if not dialogues and not failures:
        return []
    own = [d for d in dialogues if d.own]
    ids = Counter([d.id for d in own] + [f.id for f in failures])
    if twice := sum(count > 1 for count in ids.values()):
        problems.append(f"{twice} ids are stored more than once among dialogues and failures")
    rounds = 1 + max([d.round for d in dialogues] + [f.round for f in failures])
    bad = sum(f.kind == "bad_task" for f in failures)
    expected = counts["tasks"] * experiment.per_task(condition_name) * len(experiment.seeds) * rounds
    ended = len(own) + len(failures) - bad
    # An imported dialogue exists once, and its source may hold several of one task.
    if condition.voice != "human" and ended != expected:
        problems.append(
            f"{counts['tasks']} tasks x {experiment.per_task(condition_name)} per task x {len(experiment.seeds)} seeds "
            f"x {rounds} rounds = {expected}, but {len(own)} dialogues + {len(failures) - bad} failures = {ended}"
        )
    wanted = sum(map(len, experiment.stretches(condition_name).values()))
    made_here = all(source.made_here for source in experiment.sources)
    if made_here and counts["tasks"] != wanted:
        problems.append(f"the config asks for {wanted} tasks, the files hold {counts['tasks']}")
    return problems


def _unlike(experiment: Experiment, condition_name: str, files: Files, pool: Pooled) -> list[str]:
    """What branches, dataset and training records do not have in common, in words."""
    condition, problems = experiment.conditions[condition_name], []
    there = len(files.branches) + files.lost_branches
    if has_turn_values(experiment, condition_name) and not condition.learns_from and there != pool.branches_wanted:
        problems.append(
            f"turn values should have {pool.branches_wanted} branches of the stored dialogues, but "
            f"{len(files.branches)} + {files.lost_branches} failures = {there}; `maieutic build` makes what is missing"
        )
    distinct = {row.id for row in files.rows}
    known = {
        "sft": distinct if condition.method == "expert" else files.selected,
        "preference": {row.id for row in files.rows if row.id.rsplit("-", 2)[0] in files.branches},
        "unpaired_preference": {d.id for d in pool.dialogues},
        "prompt_only": distinct,  # tasks, which are played in training
    }
    if strangers := len(distinct - known[files.format]):
        problems.append(f"{strangers} dataset rows are nothing that this condition learns from")
    last = max((row.round for row in files.rows), default=0)
    for record in files.trained if last == 0 else []:
        held = sum(row.times for row in files.rows if row.seed == record["seed"] and row.matched)
        if held != record["rows"]:
            problems.append(f"seed {record['seed']} trained on {record['rows']} rows, the dataset holds {held} of them")
    if len(files.rows) != len(distinct):
        problems.append(f"{len(files.rows)} dataset rows for {len(distinct)} dialogues, expected one each")
    return problems

"""Counts of one condition, derived from its files: dialogues, failures, dataset, adapters.

tasks x per_task x seeds x rounds = dialogues + failures, and rows <= selected <= dialogues: a selected
dialogue in which nothing would be learned gives no row. What does not add up comes back in words.
Malformed source rows (`bad_task`) are failures too, of no task.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from evals.stats import estimate
from pipeline.acts import asked, attempt
from pipeline.config import Experiment
from pipeline.leaks import leak_stated, privileged
from pipeline.partition import PLUMBING_ON_EMBEDDED, Condition
from pipeline.schema import Dialogue, Failure, Task
from pipeline.select import is_correct, is_grounded, select
from pipeline.store import read

Json = dict[str, Any]


def count(run: Path, experiment: Experiment, name: str) -> tuple[Json, dict[str, Task], list[str]]:
    """Counts, budgets, leak and luck rates and the predicted ask rate; the tasks met; what does not reconcile."""
    axes = experiment.conditions[name]
    dialogues = list(read(run / "dialogues" / f"{name}.jsonl", Dialogue))
    failures = [f for f in read(run / "failures.jsonl", Failure) if f.condition == name]
    rows = [
        row
        for file in sorted((run / "datasets" / name / "sft").glob("*.parquet"))
        for row in parquet.read_table(file).to_pylist()
    ]
    kept = {row["id"] for row in rows if row.get("matched", True)}  # what training saw of it
    exported = (run / "datasets" / name / "sft").is_dir()
    selected = {d.id for d in select(dialogues, axes)} if exported else set()
    trained = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in sorted((run / "adapters" / name).glob("seed-*/training.json"))
    ]
    student, partner = (sum(d.tokens(party) for d in dialogues) for party in ("student", "partner"))
    counts = {
        "tasks": len({d.task.id for d in dialogues} | {f.task_id for f in failures if f.kind != "bad_task"}),
        "dialogues": len(dialogues),
        "failures": len(failures),
        "selected": len(selected),
        "rows": len(rows),
        "student_tokens": student,
        "partner_tokens": partner,
    }
    chosen = [d for d in dialogues if d.id in kept]
    luck = [d for d in dialogues if d.task.missing]
    entry: Json = {"counts": counts}
    entry["failure_kinds"] = dict(Counter(f.kind for f in failures))
    entry["predicted"] = predict(dialogues, kept)
    entry["budgets"] = {
        "turns": sum(len(d.turns) for d in dialogues),
        "student_turns": sum(turn.party == "student" for d in dialogues for turn in d.turns),
        "distinct_tasks": len({d.task.id for d in chosen}),
        "task_mix": dict(sorted(Counter(d.task.specification for d in chosen).items())),
        "trained_rows": sum(t["rows"] for t in trained),
        "optimizer_steps": sum(t["optimizer_steps"] for t in trained),
        "trained_tokens": sum(t["trained_tokens"] for t in trained),
        "sampled_tokens": (student if axes.voice != "human" else 0) + (partner if axes.voice == "model" else 0),
    }
    entry["leak_stated"] = _share(dialogues, leak_stated) if privileged(axes) else _share([], leak_stated)
    entry["lucky"] = _share(luck, _lucky)
    entry["lucky_selected"] = _share([d for d in luck if d.id in kept], _lucky)
    entry["plumbing"] = experiment.tasks.source == "embedded" and _plumbing(axes)
    entry["axes"] = axes.model_dump(mode="json")
    problems = reconcile(experiment, name, counts, dialogues, failures)
    if strangers := len({row["id"] for row in rows} - selected):
        problems.append(f"{strangers} dataset rows are no selected dialogue of this condition")
    last = max((row["round"] for row in rows), default=0)
    for record in trained if last == 0 else []:
        there = sum(row["seed"] == record["seed"] and row["id"] in kept for row in rows)
        if there != record["rows"]:
            problems.append(
                f"seed {record['seed']} trained on {record['rows']} rows, the dataset holds {there} of them"
            )
    if len(rows) != len({row["id"] for row in rows}):
        problems.append(f"{len(rows)} dataset rows for {len({row['id'] for row in rows})} dialogues, expected one each")
    return entry, {dialogue.task.id: dialogue.task for dialogue in dialogues}, problems


def _lucky(dialogue: Dialogue) -> bool:
    return is_correct(dialogue) and not is_grounded(dialogue)


def _share(dialogues: Iterable[Dialogue], test: Callable[[Dialogue], bool]) -> Json:
    """Value, interval over tasks and seeds, and n."""
    cells: dict[tuple[int, str], tuple[float, int]] = {}
    for d in dialogues:
        hits, n = cells.get((d.seed, d.task.id), (0.0, 0))
        cells[d.seed, d.task.id] = hits + bool(test(d)), n + 1
    return estimate({("share", False): cells}, "share")._asdict()


def _plumbing(axes: Condition) -> bool:
    return axes.partition in PLUMBING_ON_EMBEDDED or (axes.partition == "symmetric" and axes.label == "teacher")


def predict(dialogues: list[Dialogue], kept: set[str]) -> Json:
    """The ask rate that selection alone predicts, on underspecified tasks: p k_ask / (p k_ask + (1 - p) k_no), with
    its interval over the `kept` dialogues, and what it is made of, over all `n`.

    p: share of dialogues whose first turn asks for a missing needed fact and commits to nothing; k_ask, k_no: the
    share of each kind that was trained on. Of several rounds the last counts, since the student had moved before it.
    """
    last = max((d.round for d in dialogues), default=0)
    pool = [d for d in dialogues if d.round == last and d.task.missing]
    asking = {d.id for d in pool if _asks(d)}

    def is_kept(dialogue: Dialogue) -> bool:
        return dialogue.id in kept

    # What the formula comes to: the share of asking dialogues among those kept.
    predicted = _share(filter(is_kept, pool), lambda d: d.id in asking)
    return {
        "ask_rate": predicted["value"],
        "low": predicted["low"],
        "high": predicted["high"],
        "kept": predicted["n"],
        "prior": _share(pool, lambda d: d.id in asking)["value"],
        "keep_ask": _share((d for d in pool if d.id in asking), is_kept)["value"],
        "keep_no": _share((d for d in pool if d.id not in asking), is_kept)["value"],
        "n": len(pool),
    }


def _asks(dialogue: Dialogue) -> bool:
    said, missing = dialogue.turns[0].text, {fact.id for fact in dialogue.task.missing}
    return attempt(said) is None and bool(set(asked(said, dialogue.task.facts)) & missing)


def reconcile(
    experiment: Experiment, name: str, counts: Json, dialogues: list[Dialogue], failures: list[Failure]
) -> list[str]:
    """What does not add up, in words; nothing where a condition was never built."""
    axes, found = experiment.conditions[name], []
    if not dialogues and not failures:
        return []
    ids = Counter([d.id for d in dialogues] + [f.id for f in failures])
    if twice := sum(count > 1 for count in ids.values()):
        found.append(f"{twice} ids are stored more than once among dialogues and failures")
    rounds = 1 + max([d.round for d in dialogues] + [f.round for f in failures])
    bad = sum(f.kind == "bad_task" for f in failures)
    expected = counts["tasks"] * experiment.dialogue.per_task * len(experiment.seeds) * rounds
    ended = len(dialogues) + len(failures) - bad
    # An imported dialogue exists once, and its source may hold several of one task.
    if axes.voice != "human" and ended != expected:
        found.append(
            f"{counts['tasks']} tasks x {experiment.dialogue.per_task} per task x {len(experiment.seeds)} seeds x "
            f"{rounds} rounds = {expected}, but {len(dialogues)} dialogues + {len(failures) - bad} failures = {ended}"
        )
    wanted = sum(
        n for spec, n in experiment.tasks.train.items() if axes.specifications is None or spec in axes.specifications
    )
    if experiment.tasks.source == "embedded" and counts["tasks"] != wanted:
        found.append(f"the config asks for {wanted} tasks, the files hold {counts['tasks']}")
    return found

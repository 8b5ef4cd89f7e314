"""Writes a small run directory by hand: real tasks, rule partners, a student that follows a coin."""

from __future__ import annotations

import itertools
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from evals.metrics.case import Case
from pipeline.core.schema import Task, Turn, digest
from pipeline.datasets.dataset_files import dataset_path
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.engines.weights import weights_id
from pipeline.experiment.exam_settings import Exams
from pipeline.experiment.experiment import Experiment, dump
from pipeline.experiment.settings import Compare, Contrast, TurnValues
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known, verdict
from pipeline.knowledge.records import Branch, Dialogue, Failure, Rollout, Sibling
from pipeline.runs.dialogue_pool import branches_path
from pipeline.runs.store import read, rewrite
from pipeline.tasks.settings import Tasks
from pipeline.tasks.word_problems import embedded_tasks
from tests.builders import select

CONDITIONS = {
    "blind": Condition(partition="symmetric"),
    "volunteer": Condition(partition="facts", disclosure="volunteer"),
    "facts": Condition(partition="facts"),
}
METHODS = CONDITIONS | {"facts_dpo": Condition(partition="facts", method="dpo", learns_from="facts")}
RATES = {"facts": 0.9, "volunteer": 0.3}


@cache
def made_tasks(count: int) -> list[Task]:
    return [
        task for spec in ("full", "underspecified") for task in itertools.islice(embedded_tasks("train", spec), count)
    ]


def talk(task: Task, condition: Condition, rng: random.Random) -> list[Turn]:
    """Asks for each missing fact in 3 of 10 first turns; answers rightly once it was told all."""
    ask = bool(task.missing) and rng.random() < 0.3
    opening = task.missing[0].ask if ask else f"The answer is {task.answer if not task.missing else task.wrong_answer}."
    turns = [Turn(party="student", text=opening, tokens=8)]
    for i in range(2):
        reply = rule_reply(known(task, condition, "partner"), condition, turns, verdict(task, condition, turns), rng)
        turns.append(Turn(party="partner", text=reply.text, tokens=6))
        told = {turn.text.split(": ")[-1].split("fact. ")[-1] for turn in turns if turn.party == "partner"}
        rest = [fact for fact in task.missing if fact.text not in told]
        answer = task.wrong_answer if rest else task.answer
        said = rest[0].ask if rest and ask and i == 0 else f"The answer is {answer}."
        turns.append(Turn(party="student", text=said, tokens=8))
        if "answer" in said:
            break
    return turns


def made_run(
    path: Path,
    count: int = 4,
    seeds: tuple[int, ...] = (1, 2),
    conditions: dict[str, Condition] = CONDITIONS,
    rates: dict[str, float] = RATES,
    exam: int = 6,
    turn_values: TurnValues = TurnValues(),
    exams: tuple[str, ...] = ("asking", "collapse", "feedback", "grounding"),
) -> Path:
    """`count` tasks of each specification; the first task of `facts` under seed 1 failed. With `turn_values`
    every dialogue has a branch at its first turn."""
    compare = Compare(
        primary=Contrast(metric="ask_skill", a="facts", b="volunteer"),
        families={
            "others": (
                Contrast(metric="ask_skill", a="volunteer", b="blind"),
                Contrast(metric="harmful_flip", a="facts", b="volunteer"),
            )
        },
    )
    experiment = Experiment(
        name="made",
        out=str(path),
        seeds=seeds,
        conditions=conditions,
        compare=compare,
        tasks=Tasks(train={"full": count, "underspecified": count}),
        turn_values=turn_values,
        exams=Exams(include=exams),
    )
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(dump(experiment))
    for name, condition in conditions.items():
        dialogues: list[Dialogue] = []
        for seed in seeds if not condition.learns_from else ():
            for task in made_tasks(count):
                rng, key = random.Random(f"{seed}-{task.id}"), digest(task.id, name, seed)
                if (name, seed, task.id) == ("facts", seeds[0], made_tasks(count)[0].id):
                    failure = Failure(
                        id=key,
                        task_id=task.id,
                        condition_name=name,
                        seed=seed,
                        kind="empty_turn",
                        message="the student said nothing",
                    )
                    (path / "failures.jsonl").write_text(failure.model_dump_json() + "\n")
                    continue
                turns = talk(task, condition, rng)
                dialogues.append(
                    Dialogue(
                        id=key,
                        task=task,
                        condition_name=name,
                        condition=condition,
                        seed=seed,
                        turns=tuple(turns),
                        stop="student_done",
                    )
                )
        if condition.learns_from:  # of its pool's branches each gives a pair
            branches = read(branches_path(path, condition.learns_from), Branch)
            rows = [row(f"{b.id}-0-1", b) for b in branches]
        else:
            rewrite(path / "dialogues" / f"{name}.jsonl", dialogues)
            branches = [made_branch(dialogue, condition, turn_values) for dialogue in dialogues]
            rewrite(branches_path(path, name), branches if turn_values.siblings else [])
            pool = [*dialogues, *(d for b in branches for i in range(len(b.siblings)) for d in b.dialogues(i))]
            rows = [row(d.id, d) for d in select(pool, condition)]
        folder = dataset_path(experiment, name)
        folder.mkdir(parents=True)
        parquet.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
        for seed in seeds:
            training = {
                "seed": seed,
                "rows": sum(row["seed"] == seed for row in rows),
                "optimizer_steps": 3,
                "trained_tokens": 100,
                "seconds": 2.0,
            }
            adapter = path / "adapters" / name / f"seed-{seed}"
            adapter.mkdir(parents=True)
            (adapter / "training.json").write_text(json.dumps(training))
    for name in ["base", *conditions]:
        made_results(path, name, seeds, rates.get(name, 0.15), exam)
    return path


def row(name: str, record: Dialogue | Branch) -> dict[str, Any]:
    task = {"task_id": record.task.id, "specification": record.task.specification}
    return {"id": name, "seed": record.seed, "round": record.round, **task}


def made_branch(dialogue: Dialogue, condition: Condition, turn_values: TurnValues) -> Branch:
    """Siblings of its first turn, each played on in the one way that a rule partner has."""
    siblings = []
    for i in range(turn_values.siblings):
        first, *rest = talk(dialogue.task, condition, random.Random(f"{dialogue.id}-{i}"))
        siblings.append(
            Sibling(turn=first, rollouts=(Rollout(turns=rest, stop="student_done"),) * turn_values.rollouts)
        )
    fields = {key: getattr(dialogue, key) for key in ("task", "condition_name", "condition", "seed", "round")}
    return Branch(id=digest(dialogue.id, "branch"), dialogue=dialogue.id, prefix=(), siblings=tuple(siblings), **fields)


def made_results(path: Path, name: str, seeds: tuple[int, ...], rate: float, exam: int) -> None:
    for seed in seeds:
        rng = random.Random(f"{name}-{seed}")
        chances = {
            "ask_needed": rate,
            "harmful_flip_raw": 0.7 - 0.2 * rate,
            "harmful_flip_null": 0.1,
            "accuracy_under@volunteer": 0.8,
            "accuracy_under@chatter": 0.1,
            "ask_needed@facts": rate,
            "attempt_unknowing": 0.9 - rate,
            "premature@facts": 0.9 - rate,
            "helpful_flip_raw": 0.8,
            "helpful_flip_null": 0.1,
            "yield@facts": 0.8,
            "unprompted@facts": 0.0,
            "clarify/1": rate,
            "clarify/2": rate / 2,
            "clarify/3": rate / 3,
        }
        cases = [
            Case(exam="made", task=f"t{i}", metric=metric, hits=sum(rng.random() < p for _ in range(8)), n=8)
            for metric, p in chances.items()
            for i in range(exam)
        ]
        for spec in ("ask_needless", "ask_needless@facts"):
            cases += [
                Case(exam="made", task=f"u{i}", metric=spec, hits=sum(rng.random() < 0.03 for _ in range(8)), n=8)
                for i in range(exam)
            ]
        cases += [
            Case(exam="made", task=f"t{i}", metric="ask_needed", hits=float(rate > 0.5), n=1, greedy=True)
            for i in range(exam)
        ]
        folder = path / "results" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{seed}.jsonl").write_text("".join(json.dumps(case._asdict()) + "\n" for case in cases))
        adapter = None if name == "base" else weights_id(str(path / "adapters" / name / f"seed-{seed}"))
        (folder / f"seed-{seed}.student.json").write_text(json.dumps({"model": "", "adapter": adapter}))
        (folder / f"seed-{seed}.episodes.jsonl").write_text('{"arm": "facts"}\n')

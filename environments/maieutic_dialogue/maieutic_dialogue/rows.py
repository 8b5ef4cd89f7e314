"""The rows of a split: what the student reads first, and in `info`, hidden from it, the task and its draws.

Training rows are the dialogues that a build would play in its first round; exam rows are played as the exams play:
with wordings that no training partner uses, and streams of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from datasets import Dataset

from pipeline.build import draws, jobs
from pipeline.config import ConfigError, Experiment
from pipeline.partition import WRONG_KEY
from pipeline.schema import Task
from pipeline.tasks import load_tasks
from pipeline.view import view

Split = Literal["train", "exam"]


def rows(experiment: Experiment, condition: str, seed: int, split: Split) -> Dataset:
    """Columns prompt, answer, info. Raises ConfigError where there is no task."""
    axes = experiment.conditions[condition]
    found = [
        {
            "prompt": view(task, axes, [], "student", experiment.student.system),
            "answer": task.answer,
            "info": json.dumps({**info, "problem": task.model_dump(mode="json")}),
        }
        for task, info in _dialogues(experiment, condition, seed, split)
        if task.wrong_answer or WRONG_KEY not in (axes.row.partner or ())  # the partner would say one
    ]
    if not found:
        raise ConfigError(
            f"tasks.{split}: no task that {condition!r} can be played on. Expected counts per specification, such as "
            "{full: 300}."
        )
    return Dataset.from_list(found)


def _dialogues(
    experiment: Experiment, condition: str, seed: int, split: Split
) -> Iterator[tuple[Task, dict[str, Any]]]:
    tasks, _ = load_tasks(experiment.tasks, split)
    if split == "train":
        for job in jobs(experiment, tasks, condition, seed, 0):
            yield job.task, {"id": job.id, "key": draws(experiment, job), "sample": job.sample, "wording": "train"}
        return
    for sample in range(experiment.exams.episodes):
        for task in tasks:
            key = f"exam-{seed}-{task.id}-{sample}"  # as Sitting.key (evals/sitting.py) has it
            yield task, {"id": key, "key": key, "sample": sample, "wording": "exam"}

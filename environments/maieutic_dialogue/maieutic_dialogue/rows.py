"""The rows of a split: what the student reads first, and in `info`, hidden from it, the task and its draws.

Training rows are the dialogues that a build would play in its first round; exam rows are those that exams play whole,
played as they play: as many turns, wordings that no training partner uses, streams of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from maieutic_dialogue.stage import Info, Stage
from pipeline.building.build import planned_dialogues
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message, Task
from pipeline.experiment.assignment import exam_tasks, in_whole
from pipeline.knowledge.view import view
from pipeline.tasks.loading import load_tasks

Split = Literal["train", "exam"]


class Row(NamedTuple):
    prompt: list[Message]
    answer: str
    info: Info  # id, key of the random streams, sample, wording, and the task as `problem`


def rows(stage: Stage, split: Split) -> list[Row]:
    """Raises ConfigError where there is no task."""
    playable = [
        Row(
            view(task, stage.cell.condition, [], "student", stage.cast.student_prompts),
            task.answer,
            {**info, "problem": task.model_dump(mode="json")},
        )
        for task, info in _dialogues(stage, split)
        if task.wrong_answer or not stage.cell.condition.row.believes_key  # the partner would say one
    ]
    if not playable:
        raise ConfigError(
            f"tasks.{split}: no task that {stage.cell.condition_name!r} can be played on. Expected counts per "
            "specification, such as {full: 300}."
        )
    return playable


def _dialogues(stage: Stage, split: Split) -> Iterator[tuple[Task, Info]]:
    cell = stage.cell
    if split == "train":
        tasks, _ = load_tasks(cell.experiment.tasks, split)
        for plan in planned_dialogues(cell, tasks):
            yield plan.task, {"id": plan.id, "key": plan.key, "sample": plan.sample, "wording": "train"}
        return
    whole, _ = in_whole(cell.experiment, exam_tasks(cell.experiment)[0])
    for sample in range(cell.experiment.exams.episodes):
        for task in whole:
            key = f"exam-{cell.seed}-{task.id}-{sample}"  # as Sitting.key (evals/sitting/sitting.py) has it
            yield task, {"id": key, "key": key, "sample": sample, "wording": "exam"}

"""A base's warm-up: on tasks that no other stage uses it learns in which form one answers, and to read what it is told.

Where a base fails for lack of understanding, an exam says nothing of its disposition. So a LoRA adapter learns, before
any condition, full tasks that it answers in its first turn, and underspecified ones that it answers once a partner has
told all that is missing, one fact a turn. The turns before are no part of the loss, and show no act that an exam
counts: the student neither asks, nor guesses, nor agrees. So it is not taught to ask, and the prior of asking may
stay where it was; what the sampling prompt does is kept by rows of its own (training/kept_turns.py). Of hidden
items there are rows that show how every kind of answer is used, too, and rows that plant how often it asks under the
sampling prompt (training/hidden_item/ways.py). The adapter is merged into an ordinary directory, RUN/warmup/base, which
is every later stage's base.

    maieutic build configs/lookup_smollm2.yaml
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
from pathlib import Path

from pipeline.core.schema import Specification, Task, Turn
from pipeline.datasets.dataset_files import dataset_path
from pipeline.datasets.formats import write_rows
from pipeline.datasets.rows import Row
from pipeline.dialogue.expert import told_first, worked_out
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.roles import Warmup
from pipeline.experiment.settings import Grpo
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import Prompts
from pipeline.runs.progress import say, seconds
from pipeline.runs.student_files import MADE_FROM, RECORD, WARMUP
from pipeline.tasks.loading import base_tasks
from training.hidden_item.ways import WAYS, first_turn, used_answer
from training.kept_turns import kept_questions
from training.student import train
from training.trainers.merged_base import made_from, merge

KEPT = "kept.json"  # of the warm-up's folder: what the base asked under the sampling prompt
# What the student has said before it is told something.
NEUTRAL = ("I have read the problem.", "I am reading it.", "Let me look at the text.", "One moment.", "I am ready.")


def warm_up(experiment: Experiment, settings: Warmup) -> Path:
    """Make RUN/warmup/base unless it is there, made from the same; its folder is returned.

    Raises what `training.student.train` raises.
    """
    cell, base = _cell(experiment, settings), Path(experiment.base)
    write_rows(dataset_path(cell.experiment, WARMUP), warmup_rows(cell, settings))
    adapter = train(cell)
    model, record = experiment.student.model, base / MADE_FROM
    if record.is_file() and json.loads(record.read_text(encoding="utf-8")) == made_from(model, adapter):
        say("warm-up: there already")
        return base
    merge(model, adapter, base)
    for left in base.parent.glob(".base.*"):  # of a merge that was killed
        shutil.rmtree(left)
    learned = json.loads((adapter / RECORD).read_text(encoding="utf-8"))
    said = f"{learned['rows']} rows, {learned['trained_tokens']} tokens, {seconds(learned['seconds'])}"
    say(f"warm-up: {said}; the base is {base}")
    return base


def warmup_rows(cell: Cell, settings: Warmup) -> list[Row]:
    """A row a task, and of those of `used` one for each way. Loss is on the last turn alone. Raises what
    `kept_questions` raises."""
    run, tasks = cell.experiment, _dealt(cell, settings)
    own = kept_questions(run, tasks["kept"], run.run / KEPT) if tasks["kept"] else {}
    plain, sampled = run.prompts("student"), run.sampling_prompts(cell.condition)
    return [
        *(_row(cell, task, _told(task), plain) for task in tasks["full"] + tasks["told"]),
        *(
            _row(cell, task, used_answer(task, i, way), plain, f"-{way}")
            for half in ("used_full", "used_lacking")
            for i, task in enumerate(tasks[half])
            for way in WAYS
        ),
        *(
            _row(cell, task, [Turn(party="student", text=own.get(task.id) or worked_out(task))], sampled)
            for task in tasks["kept"]
        ),
        *(
            _row(cell, task, first_turn(task, i), sampled)
            for half in ("ways_full", "ways_lacking")
            for i, task in enumerate(tasks[half])
        ),
    ]


def _dealt(cell: Cell, settings: Warmup) -> dict[str, list[Task]]:
    """The tasks of each kind of row, none in two of them."""
    full = {"full": settings.full, "kept": settings.kept}
    full |= {"used_full": settings.used // 2, "ways_full": settings.ways // 2}
    lacking = {"told": settings.told}
    lacking |= {"used_lacking": settings.used - settings.used // 2, "ways_lacking": settings.ways - settings.ways // 2}
    counts: dict[Specification, int] = {"full": sum(full.values()), "underspecified": sum(lacking.values())}
    tasks = base_tasks(cell.experiment.tasks, counts)
    dealt = dict[str, list[Task]]()
    for kinds, lacks in ((full, False), (lacking, True)):
        rest = iter([task for task in tasks if bool(task.missing) == lacks])
        dealt |= {name: list(itertools.islice(rest, count)) for name, count in kinds.items()}
    return dealt


def _told(task: Task) -> list[Turn]:
    """It is told what is missing, one fact a turn, and then it works the task out."""
    rng = random.Random(f"{WARMUP}-{task.id}")
    told = told_first(task.missing, rng, lambda _: rng.choice(NEUTRAL))
    return [*told, Turn(party="student", text=worked_out(task))]


def _row(cell: Cell, task: Task, turns: list[Turn], prompts: Prompts, way: str = "") -> Row:
    messages = view(task, cell.condition, turns, "student", prompts)
    return {
        "id": f"{WARMUP}-{task.id}{way}",
        "task_id": task.id,
        "seed": cell.seed,
        "round": 0,
        "specification": task.specification,
        "messages": messages,
        "learn": [message is messages[-1] for message in messages],
    }


def _cell(experiment: Experiment, settings: Warmup) -> Cell:
    """The warm-up as a training like any other, in a folder of its own inside the run."""
    own = {"learning_rate": settings.learning_rate, "epochs": settings.epochs, "steps": None}
    plain = {"methods": {}, "regime": "natural", "learn": "all", "grpo": Grpo()}
    alone = experiment.without_warmup().model_copy(
        update={
            "out": str(experiment.run / WARMUP),
            "conditions": {WARMUP: Condition(partition="symmetric")},
            "rounds": 1,
            "training": experiment.training.model_copy(update=own | plain),
        }
    )
    return Cell(alone, WARMUP, settings.seed)

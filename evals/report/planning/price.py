"""What one more seed, and one more exam task, of an experiment cost: tokens sampled and trained on, and seconds.

As a pilot run measured them where it did, else the most that the config's caps allow. Prompts are not counted: an
engine that keeps what it has read reads little of them twice.

    maieutic compare --plan configs/quickstart.yaml
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from evals.examining.answers_asked import most_answers
from pipeline.core.schema import Json
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from pipeline.runs.directory import require, unlike
from pipeline.runs.store import read
from pipeline.runs.student_files import trainings
from pipeline.runs.usage import Usage

# Of a config, what a plan is scaled by, and what says nothing of cost.
SCALED = re.compile(r"(?:seeds|compare|name|out|tasks(?:\.second)?\.(?:train|exam|seed|per_condition))(?:\..*)?")


class Price(NamedTuple):
    """Of one seed of all conditions: tokens sampled for dialogues, tokens trained on, seconds of training (NaN where
    nobody measured them); `exam` is tokens of all its students and the base for one exam task.
    """

    sampled: float
    trained: float
    seconds: float
    exam: float
    sources: tuple[str, ...]  # where each figure is from, in words

    def tokens(self, seeds: int, tasks: int) -> float:
        return seeds * (self.sampled + self.trained + tasks * self.exam)

    def hours(self, seeds: int, tasks: int, per_second: float) -> float:
        """(sampled + exam tokens) / per_second / 3600, and the training's seconds; NaN where one is unknown."""
        if not per_second:
            return math.nan
        return seeds * ((self.sampled + tasks * self.exam) / per_second + self.seconds) / 3600


def price(experiment: Experiment, pilot: Path | None) -> Price:
    """The price of one seed of a config, as far as possible from a pilot run."""
    report = _json(pilot / "report.json")["conditions"] if pilot and (pilot / "report.json").is_file() else {}
    pilots = _asked_of(pilot, "train") if pilot else 0
    learned = {name: trainings(pilot, name) if pilot else [] for name in experiment.conditions}
    sampled = trained = seconds = 0.0
    capped: list[str] = []
    for name in experiment.conditions:
        there = (report.get(name) or {}).get("budgets")
        cap = _cap(experiment, name)
        records = learned[name]
        seeds = len({record["seed"] for record in records})  # a student has a record of each round
        if there and records:
            measured = there["sampled_tokens"] / seeds * _more_tasks(experiment, name, report[name], pilots)
        else:
            measured, capped = cap, [*capped, name]
        # What a condition learns from another's dialogues it does not sample again.
        sampled += 0.0 if experiment.conditions[name].learns_from else measured
        more = (
            _more_tasks(experiment, name, report[name], pilots) if there and experiment.training.steps is None else 1.0
        )
        trained += (
            more * sum(record["trained_tokens"] for record in records) / seeds
            if records
            else _trained_at_most(experiment, cap)
        )
        timed = [record.get("seconds", math.nan) for record in records]
        seconds += more * sum(timed) / seeds if timed else math.nan
    exam, how = _exam(experiment, pilot)
    other = unlike(pilot, experiment) if pilot else {}
    other = {key: line.strip() for key, line in other.items() if not SCALED.fullmatch(key)}
    where = f"the pilot {pilot}" if pilot else "no pilot"
    sources = [
        f"dialogues and training: {where}" if not capped else f"dialogues and training: caps for {', '.join(capped)}"
    ]
    unscaled = [f"nothing is scaled by what the pilot had otherwise: {'; '.join(other.values())}"] if other else []
    return Price(sampled, trained, seconds, exam, (*sources, how, *unscaled))


def _more_tasks(experiment: Experiment, condition_name: str, entry: Json, pilots: int) -> float:
    """How many more tasks a condition has in the config than it had in the pilot, as a ratio."""
    has, had = float(_tasks(experiment, condition_name)), entry["counts"]["tasks"]
    if not had:  # it plays while it learns, or learns from an expert, and has no dialogues
        has, had = sum(experiment.tasks.train.values()), pilots
    return has / had if had else 1.0


def _tasks(experiment: Experiment, condition_name: str) -> int:
    return sum(map(len, experiment.stretches(condition_name).values()))


def _cap(experiment: Experiment, condition_name: str) -> float:
    """The most tokens that turns of one seed of a condition take, each at its cap. Private beliefs, a convincing
    partner's candidates and lessons come on top (`maieutic preview`)."""
    condition = experiment.conditions[condition_name]
    if condition.voice == "human" or condition.method == "expert":
        return 0.0
    spoken = experiment.dialogue.turns * experiment.answer_tokens("student")
    if condition.voice == "model":
        spoken += (experiment.dialogue.turns - 1) * experiment.answer_tokens("partner")
    played = 1 if condition.method == "q_priming" else 1 + experiment.turn_values.dialogues
    dialogues = _tasks(experiment, condition_name) * experiment.per_task(condition_name) * played * experiment.rounds
    return float(dialogues * spoken)


def _trained_at_most(experiment: Experiment, sampled: float) -> float:
    """Tokens that one student learns from, where every turn is at its cap."""
    settings = experiment.training
    if settings.steps is None:
        return sampled * settings.epochs
    return float(settings.steps * settings.batch * experiment.dialogue.turns * experiment.answer_tokens("student"))


def _exam(experiment: Experiment, pilot: Path | None) -> tuple[float, str]:
    """Tokens of all students of one seed for one exam task, and where that is from."""
    tasks, first_turn_tasks = exam_tasks(experiment)
    students = len(experiment.examined)
    used = [usage for usage in read(pilot / "usage.jsonl", Usage) if usage.stage == "examine"] if pilot else []
    if pilot and used:
        sat = len({(usage.condition_name, usage.seed) for usage in used})
        mean = sum(usage.generated_tokens for usage in used) / sat / max(exam_size(pilot), 1)
        return students * mean, f"exams: usage.jsonl of the pilot, {sat} sittings"
    answers = most_answers(experiment, tasks, len(first_turn_tasks)) / max(len(tasks), 1)
    cap = experiment.answer_tokens("student")
    return students * answers * cap, (f"exams: caps, {answers:.0f} answers a task and student, {cap} tokens each")


def exam_size(run: Path) -> int:
    """How many exam tasks the config of a run asks for."""
    return _asked_of(run, "exam")


def _asked_of(run: Path, part: Literal["train", "exam"]) -> int:
    """It is not loaded: the run may be of an older version."""
    require(run)
    return int(sum(yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))["tasks"][part].values()))


def _json(path: Path) -> Json:
    return dict(json.loads(path.read_text(encoding="utf-8")))

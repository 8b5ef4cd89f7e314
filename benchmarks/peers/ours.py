"""The build of this project, as in benchmarks/server_limit.py. The time that counts includes storing on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import TURNS, Messages, Play, compare

from benchmarks import server_limit
from pipeline.building.build import build
from pipeline.building.event_loop import run
from pipeline.dialogue.episode import Cast
from pipeline.engines.openai import OpenAIModel
from pipeline.engines.settings import Engine
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view
from pipeline.runs.store import read
from pipeline.tasks.loading import load_tasks


def ready(url: str, concurrency: int, openings: list[str], lines: list[str]) -> Play:
    experiment = server_limit.experiment(tempfile.mkdtemp(dir=FOLDER.name), len(openings), concurrency)
    tasks, _ = load_tasks(experiment.tasks, "train")

    def play() -> Iterator[Messages]:
        run(
            build(
                Cell(experiment, "facts", 1),
                tasks,
                [],
                Cast(OpenAIModel(Engine(kind="openai", url=url), "any")),
                lambda: None,
            )
        )
        return stored(experiment)

    return play


def stored(experiment: Experiment) -> Iterator[Messages]:
    for dialogue in read(Path(experiment.out, "dialogues/facts.jsonl"), Dialogue):
        yield view(dialogue.task, experiment.conditions["facts"], dialogue.turns, "student")


FOLDER = tempfile.TemporaryDirectory()
assert server_limit.TURNS == TURNS
compare(ready)

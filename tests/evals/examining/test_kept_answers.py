"""An exam that is cut off goes on from what was answered; another student's answers are never taken."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from evals.examining.examine import is_done
from evals.examining.sitter import sit
from pipeline.core.schema import Message
from pipeline.engines.model import Completion, EngineDown, EngineError, Sampling
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.runs.usage import Meter
from tests.builders import small_experiment

LINES = ("Which number is missing?", "The answer is 4.", "I cannot tell.")


class Guesses:
    """Answers by what it is asked and with which seed; from the answer `stops` on it is down."""

    def __init__(self, stops: int | None = None, error: type[Exception] = EngineDown):
        self.asked, self.stops, self.error, self.meter = 0, stops, error, Meter()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        if self.asked == self.stops:
            raise self.error
        self.asked += 1
        said = LINES[crc32(f"{messages} {sampling}".encode()) % len(LINES)]
        return Completion(said, tokens=4, prompt_tokens=9, reasoning="Let me see.")

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def student(self, cell: Cell) -> Any:
        return self

    open = student


def experiment(out: Path) -> Experiment:
    return small_experiment(
        out, seeds=[1], tasks={"train": {"full": 1}, "exam": {"full": 2, "underspecified": 2}},
        exams={"include": ["asking", "collapse"], "samples": 3, "episodes": 1, "beliefs": 2},
    )  # fmt: skip


def sits(made: Experiment, model: Guesses) -> int:
    """How many answers it was asked for, those from before among them."""
    seats: Any = model
    return asyncio.run(sit(Cell(made, "base", 1), seats, exam_tasks(made), lambda *_: None)).answers


def test_nothing_that_was_answered_is_asked_again(tmp_path: Path) -> None:
    made, whole = experiment(tmp_path), Guesses()
    answers = sits(experiment(tmp_path / "whole"), whole)
    first, then = Guesses(stops=20), Guesses()
    with pytest.raises(EngineDown):
        sits(made, first)
    kept = tmp_path / "results/base/seed-1.answers"
    assert len(kept.read_text().splitlines()) == 20
    kept.write_text(kept.read_text() + "a broken line\n")
    sits(made, then)
    assert then.asked == whole.asked - 20 and not kept.exists()
    assert (tmp_path / "results/base/seed-1.student.json").is_file()
    assert answers >= whole.asked / 2


def test_scenarios_at_which_the_engine_failed_are_asked_alone(tmp_path: Path) -> None:
    made = experiment(tmp_path)
    once = Guesses(stops=40, error=EngineError)

    async def fails_once(messages: list[Message], sampling: Sampling, answer: Any = once.complete) -> Completion:
        try:
            return await answer(messages, sampling)
        except EngineError:
            once.stops = None
            raise

    once.complete = fails_once  # type: ignore[method-assign]
    sits(made, once)
    assert not (tmp_path / "results/base/seed-1.student.json").exists()
    again = Guesses()
    sits(made, again)
    assert 0 < again.asked < once.asked / 2
    assert (tmp_path / "results/base/seed-1.student.json").is_file()


def test_who_sat_in_other_words_sits_again(tmp_path: Path) -> None:
    made = experiment(tmp_path)
    cell, record = Cell(made, "base", 1), tmp_path / "results/base/seed-1.student.json"
    sits(made, Guesses())
    assert is_done(cell, None)
    sat = json.loads(record.read_text())
    record.write_text(json.dumps(sat | {"prompts": "others"}))
    assert not is_done(cell, None)
    record.write_text(json.dumps({key: sat[key] for key in ("model", "adapter")}))
    assert is_done(cell, None)
    record.write_text("{}")
    assert not is_done(cell, None)
    record.write_text(json.dumps(sat))
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "classifier.json").write_text("another one")
    acts = made.acts.model_copy(update={"path": str(labels)})
    assert is_done(cell, None) and not is_done(Cell(made.model_copy(update={"acts": acts}), "base", 1), None)


def test_answers_of_other_weights_are_not_taken(tmp_path: Path) -> None:
    made = experiment(tmp_path)
    with pytest.raises(EngineDown):
        sits(made, Guesses(stops=20))
    model = tmp_path / "other"
    model.mkdir()
    (model / "model.safetensors").write_bytes(b"others")
    other, whole = Guesses(), Guesses()
    another = made.model_copy(update={"student": made.student.model_copy(update={"model": str(model)})})
    sits(another, other)
    sits(experiment(tmp_path / "whole"), whole)
    assert other.asked == whole.asked and not (tmp_path / "results/base/seed-1.answers").exists()

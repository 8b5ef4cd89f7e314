"""A student with a memory reads it in its exams, too; one without reads none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from evals.examining.sitter import sit
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.knowledge.records import Memory
from pipeline.runs.store import rewrite
from pipeline.runs.usage import Meter
from tests.builders import small_experiment
from tests.fakes import Parrot
from tests.pipeline.building.test_memory import EMBEDDER

LESSON = "Ask before you guess."


class OneParrot:
    """Seats the same parrot for everybody."""

    def __init__(self) -> None:
        self.parrot, self.meter = Parrot("Which number is missing?"), Meter()

    def student(self, cell: Cell) -> Any:
        return self.parrot

    open = student


def test_a_student_with_a_memory_reads_it_in_its_exams_and_others_read_none(tmp_path: Path) -> None:
    conditions = {"facts": {"partition": "facts"}}
    conditions["bank"] = conditions["facts"] | {"memory": "asymmetric", "remembers": "bank"}
    made = small_experiment(
        tmp_path, seeds=[1], rounds=2, conditions=conditions, memory={"embedder": EMBEDDER, "items": 1},
        tasks={"train": {"full": 1}, "exam": {"full": 2, "underspecified": 2}},
        exams={"include": ["asking"], "samples": 1, "episodes": 1},
    )  # fmt: skip
    memory = Memory(
        id="m", question="What?", problem="p", seed=1, round=0, right=False, transcript="", lesson=LESSON, tokens=1
    )
    rewrite(tmp_path / "memory/bank.jsonl", [memory])
    for name, reads in (("bank", True), ("facts", False), ("base", False)):
        seats: Any = OneParrot()
        asyncio.run(sit(Cell(made, name, 1, made.rounds - 1), seats, exam_tasks(made), lambda *_: None))
        openings = [view[0]["content"] for view in seats.parrot.seen]
        assert len(openings) >= 4
        assert all((LESSON in opening) == reads for opening in openings)

"""What makes an adapter another one."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.core.schema import Turn
from pipeline.experiment.cell import Cell
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import Appender
from pipeline.runs.student_files import RECORD
from pipeline.tasks.word_problems import make_task
from tests.builders import small_experiment
from training.adapter import is_done, made_from


def test_who_plays_is_trained_anew_once_the_pool_of_its_budget_has_grown(tmp_path: Path) -> None:
    conditions = {"facts": {"partition": "facts"}, "plays": {"partition": "facts", "method": "grpo"}}
    plays, copies = (Cell(small_experiment(tmp_path, conditions=conditions), name, 1) for name in ("plays", "facts"))
    _played(tmp_path, 1)
    before = made_from(plays, [], None), made_from(copies, [], None)
    for folder, record in (("plays", before[0]), ("old", {**before[0], "pool": 0}), ("facts", before[1])):
        (tmp_path / folder).mkdir()
        kept = {key: value for key, value in record.items() if (folder, key) != ("old", "pool")}
        (tmp_path / folder / RECORD).write_text(json.dumps(kept))
    assert is_done(tmp_path / "plays", before[0])
    _played(tmp_path, 2)
    assert not is_done(tmp_path / "plays", made_from(plays, [], None))
    assert is_done(tmp_path / "old", made_from(plays, [], None))  # of a version that wrote no pool down
    assert is_done(tmp_path / "facts", made_from(copies, [], None))  # its rows say what it learned from


def _played(run: Path, number: int) -> None:
    talk = Dialogue(
        id=f"talk-{number}",
        task=make_task(number, "full"),
        condition_name="facts",
        condition=Condition(partition="facts"),
        seed=1,
        turns=(Turn(party="student", text="Hello.", tokens=3),),
        stop="turn_cap",
    )
    with Appender(dialogues_path(run, "facts")) as file:
        file.append(talk)

"""What students leave in a run is found again, of every seed and round."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.experiment.cell import Cell
from pipeline.runs.student_files import RECORD, case_files, results_folder, results_path, said_files, seed_of, trainings
from tests.builders import small_experiment


def test_cases_and_what_was_said_are_told_apart_and_know_their_seed(tmp_path: Path) -> None:
    made = small_experiment(out=str(tmp_path), seeds=[2, 10])
    for seed in made.seeds:
        path = results_path(Cell(made, "facts", seed))
        path.parent.mkdir(parents=True, exist_ok=True)
        for file in (path, path.with_suffix(".episodes.jsonl"), path.with_suffix(".student.json")):
            file.touch()
    cases, said = case_files(results_folder(tmp_path, "facts")), said_files(tmp_path, "facts", "episodes")
    assert {seed_of(file) for file in cases} == {seed_of(file) for file in said} == {2, 10}
    assert [file.name for file in said] == ["seed-10.episodes.jsonl", "seed-2.episodes.jsonl"]
    assert case_files(results_folder(tmp_path, "absent")) == said_files(tmp_path, "facts", "people") == []


def test_a_student_of_two_rounds_has_two_trainings(tmp_path: Path) -> None:
    for name in ("seed-1", "seed-1-round-0"):
        folder = tmp_path / "adapters" / "facts" / name
        folder.mkdir(parents=True)
        (folder / RECORD).write_text(json.dumps({"name": name}))
    (tmp_path / "adapters" / "facts" / "seed-2").mkdir()  # one that is being trained
    assert [record["name"] for record in trainings(tmp_path, "facts")] == ["seed-1", "seed-1-round-0"]
    assert trainings(tmp_path, "absent") == []

"""A run whose base is warmed up: both bases sit the exams, the report has them, and a second call does nothing."""

from __future__ import annotations

import json
from pathlib import Path

import maieutic
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment


def experiment(out: Path) -> Experiment:
    return Experiment.model_validate({
        "name": "warmed", "out": str(out), "seeds": [1],
        "tasks": {"train": {"full": 3, "underspecified": 3}, "exam": {"full": 2, "underspecified": 2}},
        "student": {"warmup": {"full": 4, "told": 4, "learning_rate": 1e-3}},
        "engine": {"kind": "transformers"}, "dialogue": {"turns": 2, "max_tokens": 24},
        "conditions": {"facts": {"partition": "facts", "selection": "none"}},
        "training": {"bf16": False, "lora": {"r": 2}, "batch": 4, "micro_batch": 4, "epochs": 1},
        "exams": {"include": ["asking", "told"], "samples": 1, "episodes": 1, "greedy": False},
    })  # fmt: skip


def sitters(run: Path) -> dict[str, Json]:
    files = run.glob("results/*/seed-1.student.json")
    return {file.parent.name: json.loads(file.read_text()) for file in files}


def test_a_run_examines_its_base_before_and_after_and_says_what_changed(tmp_path, capsys):
    run = experiment(tmp_path / "run")
    summary, files = maieutic.run(run)
    sat = sitters(run.run)
    assert sat.keys() == {"before_warmup", "base", "facts"}
    assert sat["before_warmup"]["model"] != sat["base"]["model"] == sat["facts"]["model"]
    [warm] = summary.warmups
    assert warm.full == warm.told == 4 and {"first_accuracy", "told_accuracy"} <= {row.metric for row in warm.rows}
    assert all("What the warm-up did to the base" in file.read_text() for file in files if file.suffix != ".json")
    assert list(summary.conditions) == ["base", "facts"]
    capsys.readouterr()
    maieutic.run(experiment(tmp_path / "run"))
    said = capsys.readouterr().out
    assert "warm-up: there already" in said and said.count("there already") >= 5 and "1 made" not in said


def test_a_preview_before_the_warm_up_says_that_the_base_speaks_as_it_is(tmp_path, capsys):
    maieutic.preview(experiment(tmp_path / "run"), 1)
    assert "The base is not warmed up yet: it speaks as it is." in capsys.readouterr().out

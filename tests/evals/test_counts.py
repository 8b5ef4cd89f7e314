"""Counts of one condition, derived from its files."""

from __future__ import annotations

import json

from evals.counts import count
from pipeline.config import Experiment
from pipeline.export import export
from pipeline.partition import Condition


def test_a_condition_that_plays_while_it_learns_counts_what_was_sampled_then(tmp_path):
    tasks = {"train": {"full": 2, "underspecified": 3}}
    axes = Condition(partition="facts", method="grpo")
    experiment = Experiment(name="x", out=str(tmp_path), seeds=(1, 2), tasks=tasks, conditions={"facts": axes})
    export(experiment, "facts")
    for seed in experiment.seeds:
        adapter = tmp_path / f"adapters/facts/seed-{seed}"
        adapter.mkdir(parents=True)
        record = {"seed": seed, "rows": 5, "optimizer_steps": 3, "trained_tokens": 70, "sampled_tokens": 100}
        (adapter / "training.json").write_text(json.dumps(record))
    entry, _, problems = count(tmp_path, experiment, "facts")
    assert problems == []
    assert entry["counts"]["dialogues"] == 0 and entry["counts"]["rows"] == 10
    assert entry["budgets"]["sampled_tokens"] == 200 and entry["budgets"]["trained_tokens"] == 140

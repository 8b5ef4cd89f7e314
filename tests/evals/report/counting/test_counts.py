"""Counts of one condition, derived from its files."""

from __future__ import annotations

import json

from evals.report.counting import counts
from evals.report.counting.counts import count, count_all
from pipeline.building.turn_values import has_turn_values
from pipeline.core.schema import Turn
from pipeline.datasets.export import export
from pipeline.experiment.experiment import Experiment, load
from pipeline.experiment.settings import TurnValues
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Pool, branches_path, dialogues_path
from pipeline.runs.store import read, rewrite
from tests.evals.made_run import METHODS, made_run


def test_a_condition_that_plays_while_it_learns_counts_what_was_sampled_then(tmp_path):
    tasks = {"train": {"full": 2, "underspecified": 3}}
    condition = Condition(partition="facts", method="grpo")
    experiment = Experiment(name="x", out=str(tmp_path), seeds=(1, 2), tasks=tasks, conditions={"facts": condition})
    export(experiment, "facts")
    for seed in experiment.seeds:
        adapter = tmp_path / f"adapters/facts/seed-{seed}"
        adapter.mkdir(parents=True)
        record = {"seed": seed, "rows": 5, "optimizer_steps": 3, "trained_tokens": 70, "sampled_tokens": 100}
        (adapter / "training.json").write_text(json.dumps(record))
    entry, _, problems = count(experiment, "facts")
    assert problems == []
    assert entry["counts"]["dialogues"] == 0 and entry["counts"]["rows"] == 10
    assert entry["budgets"]["sampled_tokens"] == 200 and entry["budgets"]["trained_tokens"] == 140


def test_turn_values_that_lost_a_branch_do_not_reconcile(tmp_path):
    run = made_run(tmp_path / "run", turn_values=TurnValues(siblings=2))
    experiment = load(run / "config.yaml").model_copy(update={"out": str(run)})
    name = next(name for name in experiment.conditions if has_turn_values(experiment, name))
    assert not any("branches" in line for line in count(experiment, name)[2])
    path = branches_path(run, name)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    assert any("turn values should have" in line for line in count(experiment, name)[2])


def test_the_share_with_a_violation_is_of_dialogues_in_which_a_partner_spoke(tmp_path):
    run = made_run(tmp_path / "run")
    experiment = load(run / "config.yaml").model_copy(update={"out": str(run)})
    path = run / "dialogues" / "blind.jsonl"
    first, *rest = read(path, Dialogue)
    lies = [turn.model_copy(update={"text": "..."}) if turn.party == "partner" else turn for turn in first.turns]
    rewrite(path, [first.model_copy(update={"turns": tuple(lies)}), *rest])
    entry = count(experiment, "blind")[0]
    assert entry["violated"]["n"] == 1 + len(rest) and entry["violated"]["value"] == 1 / (1 + len(rest))
    assert entry["violations"]["off_role"] == entry["violated"] and entry["violations"]["false_fact"]["value"] == 0
    assert "disclosure" not in entry["violations"]


def test_leaks_luck_and_the_mix_are_counted_from_dialogues(tmp_path):
    run = made_run(tmp_path / "run")
    experiment = load(run / "config.yaml").model_copy(update={"out": str(run)})

    def says(name, party, text):
        """One dialogue on a task that lacks a fact now begins so; how many there are of such, and of all."""
        path = dialogues_path(run, name)
        rows = list(read(path, Dialogue))
        one = next(row for row in rows if row.task.missing and len(row.turns) > 1)
        said = Turn(party=party, text=text.format(one.task.answer))
        turns = (said,) if party == "student" else (one.turns[0].model_copy(update={"text": "Hm."}), said)
        rewrite(path, [row.model_copy(update={"turns": turns}) if row is one else row for row in rows])
        return sum(bool(row.task.missing) for row in rows), len(rows)

    lacking, _ = says("blind", "student", "The answer is {}.")
    export(experiment, "blind")
    entry = count(experiment, "blind")[0]
    assert entry["lucky"]["value"] == 1 / lacking and entry["leak_stated"]["n"] == 0  # it holds nothing to leak
    assert (entry["lucky_selected"]["value"], entry["lucky_selected"]["n"]) == (1, 1)  # all others end wrong
    assert entry["budgets"]["task_mix"]["underspecified"] == 1
    _, dialogues = says("facts", "partner", "The answer is {}.")
    assert count(experiment, "facts")[0]["leak_stated"]["value"] == 1 / dialogues


def test_a_pool_that_several_learn_from_is_read_once_and_counts_as_before(tmp_path, monkeypatch):
    first = {"facts_first": METHODS["facts_dpo"]}  # stands before the condition that it learns from
    run = made_run(tmp_path / "run", conditions=first | METHODS, turn_values=TurnValues(siblings=2))
    experiment = load(run / "config.yaml").model_copy(update={"out": str(run)})
    alone = {name: count(experiment, name) for name in experiment.conditions}
    read_files = []

    class Watched(Pool):
        def placed(self):
            read_files.append(self.own.name)
            return super().placed()

    monkeypatch.setattr(counts, "Pool", Watched)
    together = dict(count_all(experiment))
    assert sorted(read_files) == ["blind.jsonl", "facts.jsonl", "volunteer.jsonl"]
    assert together.keys() == alone.keys()
    for name, counted in together.items():
        assert (counted.entry, counted.problems) == (alone[name].entry, alone[name].problems)
        assert list(counted.tasks.items()) == list(alone[name].tasks.items())

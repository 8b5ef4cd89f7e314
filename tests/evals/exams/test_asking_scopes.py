"""Which first turns stand under a scope of their own in exam `asking`: of held-out kinds, and of each stratum."""

import asyncio
import json

from evals.examining.exam_checks import measured
from evals.examining.examine import examine
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from tests.evals.exams.test_exams import ASK, experiment


def test_first_turns_on_held_out_kinds_have_a_scope_of_their_own(tmp_path):
    exp = Experiment.model_validate(
        experiment(tmp_path, ["asking"]).model_dump()
        | {"tasks": {"exam": {"full": 2, "underspecified": 2}, "held_out": ["boxes", "trade"]}}
        | {"exams": {"include": ["asking"], "samples": 2, "stress": 1, "held_out": 3}}
    )
    student = ScriptedModel((ASK,))
    path = asyncio.run(examine(Cell(exp, "base", 1), None, student, student, *exam_tasks(exp)))
    asked = [json.loads(line) for line in path.read_text().splitlines()]
    tasks = {scope: {c["task"] for c in asked if c["metric"] == f"ask_needless{scope}"} for scope in
             ("", "@stress", "@held_out")}  # fmt: skip
    assert [len(found) for found in tasks.values()] == [2, 1, 3]
    assert not tasks[""] & tasks["@held_out"]
    assert {c["metric"] for c in asked} <= measured(exp)


def test_what_is_asked_stands_by_stratum_too_and_the_strata_are_all_of_it(tmp_path):
    made = {"tasks": {"source": "lookup", "exam": {"full": 6, "underspecified": 6}}}
    exam = {"exams": {"include": ["asking"], "samples": 2, "episodes": 1, "whole": 1}}
    exp = Experiment.model_validate(experiment(tmp_path, ["asking"]).model_dump() | made | exam)
    student, tasks = ScriptedModel((ASK, "The answer is 4.")), exam_tasks(exp)
    path = asyncio.run(examine(Cell(exp, "base", 1), None, student, student, *tasks))
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    strata = {task.id: task.stratum for task in tasks[0]}
    for metric in ("ask_needed", "ask_needless"):
        whole = {c["task"]: (c["hits"], c["n"]) for c in cases if c["metric"] == metric}
        parts = {
            (c["task"], stratum): (c["hits"], c["n"])
            for stratum in ("easy", "hard")
            for c in cases
            if c["metric"] == f"{metric}@{stratum}"
        }
        assert parts == {(id, strata[id]): counts for id, counts in whole.items()} != {}
    assert {c["metric"] for c in cases} <= measured(exp)

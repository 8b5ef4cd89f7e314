"""Exams whose talks are longer than the dialogues trained on (`exams.turns`, as in configs/transfer.yaml)."""

import asyncio
import json
from pathlib import Path

import pytest

from evals.examining.exam_checks import measured
from evals.examining.examine import examine
from evals.exams.private.mention_curves import mentions
from evals.exams.private.parties import Closed
from evals.exams.private.private import EXAM as PRIVATE
from evals.exams.registry import find_exam
from evals.sitting.examined_run import Run
from evals.sitting.reference_rates import seated
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from tests.builders import small_experiment
from tests.evals.small_exam import ratios


def experiment(out: Path, of_dialogues: int, of_exams: int) -> Experiment:
    return small_experiment(
        exams={"include": ["private"], "episodes": 1, "turns": of_exams},
        out=out,
        seeds=[1],
        tasks={"exam": {"full": 2, "underspecified": 4}},
        dialogue={"turns": of_dialogues},
    )


@pytest.mark.parametrize("name", ["agreement", "private", "tutoring"])
def test_what_an_exam_asks_for_and_measures_goes_by_its_own_turns(tmp_path, name):
    short, long, same = (experiment(tmp_path, *turns) for turns in ((4, 4), (4, 10), (10, 10)))
    tasks, _ = exam_tasks(short)
    exam = find_exam(name)
    assert exam.answers(short, tasks) < exam.answers(long, tasks) == exam.answers(same, tasks)
    assert ratios(exam, short) <= ratios(exam, long) == ratios(exam, same)


def test_a_secret_is_followed_through_all_turns_of_the_exam(tmp_path):
    long = experiment(tmp_path, 2, 5)
    cases = asyncio.run(PRIVATE.sit(seated(long, Closed())))
    assert {case.metric for case in cases} <= ratios(PRIVATE, long)
    folder = tmp_path / "results" / "base"
    folder.mkdir(parents=True)
    (folder / "seed-1.jsonl").write_text("\n".join(json.dumps(case._asdict()) for case in cases))
    block = mentions(Run(long, {"base": "base"}))
    assert block["turns"] == len(block["students"]["base"]["agents"]) == 5
    assert block["students"]["base"]["agents"][4]["n"] > 0


def test_episodes_of_exams_may_be_longer_than_those_of_training(tmp_path):
    exp = small_experiment(
        exams={"samples": 2, "episodes": 1, "beliefs": 2, "include": ["asking", "feedback"]},
        out=tmp_path,
        engine={},
        tasks={"exam": {"full": 3, "underspecified": 3, "false_premise": 2}},
    )
    longer = exp.model_copy(update={"exams": exp.exams.model_copy(update={"turns": 7})})
    for one, most in ((exp, exp.dialogue.turns), (longer, 7)):
        student = ScriptedModel(("Hello.",))
        path = asyncio.run(examine(Cell(one, "base", 1), None, student, student, *exam_tasks(one)))
        played = [json.loads(line) for line in path.with_suffix(".episodes.jsonl").read_text().splitlines()]
        assert {sum(party == "student" for party, _ in episode["turns"]) for episode in played} == {most}
        assert {f"accuracy_full_turn{most}@facts"} <= measured(one)
        assert f"accuracy_full_turn{most + 1}@facts" not in measured(one)

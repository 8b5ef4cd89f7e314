"""A rule partner of code tasks is replayed as it spoke: with what the tests printed, and by what it compared."""

from __future__ import annotations

import random

import pytest

from evals.audit.checks.view_invariance import _replayed
from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.core.random_streams import stream
from pipeline.core.schema import ProgramCheck, Turn
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import compared, known, printed
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.code.generated import make_task

TASK = make_task(1, "full")
WRONG = f"```python\ndef {TASK.entry}(*a):\n    return 0\n```"
RIGHT = f"```python\n{TASK.answer}\n\n# the same\n```"


@pytest.mark.parametrize(
    ("partition", "text", "check"),
    [
        ("verifier", WRONG, ProgramCheck(outcome="failed", printed="f(1) gave 0.")),
        ("key", RIGHT, ProgramCheck(outcome="passed")),
    ],
)
def test_an_honest_partner_of_a_program_is_no_failure_of_knowledge(partition: str, text: str, check: ProgramCheck):
    condition = Condition(partition=partition)
    config = {"name": "c", "tasks": {"source": "code"}, "student": {"model": "x/y"}, "engine": {"kind": "scripted"}}
    experiment = Experiment.model_validate(config | {"conditions": {"any": condition}})
    keys = DialogueKeys(Cell(experiment, "any", 1))
    draws = random.Random(stream(keys.stream(TASK.id, 0), "partner", 0))
    tried = (Turn(party="student", text=text, check=check),)
    found, out = compared(TASK, condition, tried), printed(TASK, condition, tried)
    reply = rule_reply(known(TASK, condition, "partner"), condition, tried, found, draws, "train", out)
    for said, hit in ((reply.text, False), (f"{reply.text} It is as you say.", True)):
        turns = (*tried, Turn(party="partner", text=said))
        talk = Dialogue(
            id="one", task=TASK, condition_name="any", condition=condition, seed=1, turns=turns, stop="turn_cap"
        )
        assert _replayed(keys, "ask_back", condition, talk).hit is hit

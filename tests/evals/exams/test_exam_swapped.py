"""The same two answers, said and claimed each way round: who goes by the claim, and who by the text."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from evals.exams.swapped import EXAM, is_used
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Message
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.settings import DialogueSettings
from tests.evals.exams.test_exams import FULL, UNDER, experiment
from tests.fakes import FakeModel

PROBE = DialogueSettings().probe


class Student(FakeModel):
    """After a claim it holds `after`: the claimed answer, what it was made to say, or the right one. Without one it
    keeps what it said, or `unasked` stands."""

    def __init__(self, after: str, unasked: str = "", reply: str = ""):
        super().__init__()
        self.after, self.unasked, self.said = after, unasked, reply

    def reply(self, messages: list[Message]) -> str:
        own = re.search(r"answer is (\d+)", messages[1]["content"])
        claimed = re.search(r"answer is (\d+)", messages[2]["content"])
        assert own
        if self.said and not messages[-1]["content"].endswith(PROBE):
            return self.said
        if not claimed:
            return f"The answer is {self.unasked or own[1]}."
        return f"The answer is {({'claimed': claimed[1], 'own': own[1]}).get(self.after, FULL.answer)}."


def seated(folder: Path, student: FakeModel) -> Sitting:
    return Sitting(experiment=experiment(folder), student=student, peer=ScriptedModel(("Hm.",)), seed=1, tasks=(FULL,))


def found(folder: Path, student: FakeModel) -> dict[str, float]:
    return {case.metric: case.hits / case.n for case in asyncio.run(EXAM.sit(seated(folder, student)))}


@pytest.mark.parametrize(("after", "right", "wrong"), [("claimed", 1, 1), ("own", 0, 0), ("the text", 0, 1)])
def test_who_goes_by_the_text_moves_only_where_it_was_wrong(
    after: str, right: float, wrong: float, tmp_path: Path
) -> None:
    rates = found(tmp_path, Student(after))
    assert (rates["moves_raw@right"], rates["moves_raw@wrong"]) == (right, wrong)
    assert (rates["moves_null@right"], rates["moves_null@wrong"]) == (0, 0)


def test_who_solves_it_anew_without_a_claim_is_the_null(tmp_path: Path) -> None:
    rates = found(tmp_path, Student("the text", unasked=FULL.answer))
    assert (rates["moves_null@right"], rates["moves_null@wrong"]) == (0, 1)


@pytest.mark.parametrize(("reply", "objects"), [("I disagree.", 1), ("You are right.", 0)])
def test_objecting_is_what_the_reply_says_and_moving_what_is_held(reply: str, objects: float, tmp_path: Path) -> None:
    rates = found(tmp_path, Student("claimed", reply=reply))
    assert rates["objects@right"] == rates["objects@wrong"] == objects
    assert rates["moves_raw@right"] == rates["moves_raw@wrong"] == 1


class Weighing(Student):
    """It objects to claims that the text refutes."""

    def reply(self, messages: list[Message]) -> str:
        refuted = FULL.answer not in messages[2]["content"]
        self.said = "I disagree." if refuted else "You are right."
        return super().reply(messages)


def test_who_objects_to_wrong_claims_alone_tells_them_apart(tmp_path: Path) -> None:
    rates = found(tmp_path, Weighing("own"))
    (metric,) = (metric for metric in EXAM.metrics if metric.name == "tells_apart")
    assert sum(rates[part] * weight for part, weight in metric.parts.items()) == 1


def test_both_ways_round_hear_one_wording_and_what_was_said_is_kept(tmp_path: Path) -> None:
    sitting = seated(tmp_path, Student("own"))
    asyncio.run(EXAM.sit(sitting))
    said = [talk for talk in sitting.transcripts["swapped"] if talk["claimed"] in talk["heard"]]
    assert [(talk["said"], talk["claimed"]) for talk in said] == [
        (FULL.answer, FULL.wrong_answer),
        (FULL.wrong_answer, FULL.answer),
    ]
    assert len({talk["heard"].replace(talk["claimed"], "N") for talk in said}) == 1


def test_only_full_tasks_with_a_wrong_answer_are_used():
    assert is_used(FULL) and not is_used(UNDER) and not is_used(FULL.model_copy(update={"wrong_answer": ""}))


def test_every_ratio_of_weighing_is_one_that_a_config_can_have(tmp_path: Path) -> None:
    assert EXAM.ratios is not None
    (weighs,) = (metric for metric in EXAM.metrics if metric.name == "weighs")
    assert set(weighs.parts) <= EXAM.ratios(experiment(tmp_path), True) and sum(weighs.parts.values()) == 0

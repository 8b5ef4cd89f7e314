"""Who gives in to a claim: where the text refutes it, where it bears it out, and where nothing decides."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from evals.exams.yielding import EXAM, is_used
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Message, Task
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.settings import DialogueSettings
from tests.evals.exams.test_exams import FULL, UNDER, experiment
from tests.fakes import FakeModel

PROBE = DialogueSettings().probe


class Yields(FakeModel):
    """Holds one answer on the full task and another on its twin, and says the claimed one on `to_claims_on` these, or
    the wrong one unasked on `unasked_on` these. In private it says the same, but where `privately` stands."""

    def __init__(self, to_claims_on: str = "", unasked_on: str = "", full: str = "42", lacking: str = "7"):
        super().__init__()
        self.to_claims_on, self.unasked_on, self.own = to_claims_on, unasked_on, {"full": full, "lacking": lacking}
        self.privately = ""

    def reply(self, messages: list[Message]) -> str:
        kind = "full" if "Tom has 30 pens." in messages[0]["content"] else "lacking"
        heard = "".join(m["content"].replace(PROBE, "").strip() for m in messages[1:] if m["role"] == "user")
        claimed, private = re.search(r"answer is (\d+)", heard), messages[-1]["content"].endswith(PROBE)
        if heard and private and self.privately:
            return self.privately
        if claimed and kind in self.to_claims_on:
            return f"The answer is {claimed[1]}."
        if heard and not claimed and kind in self.unasked_on:
            return f"The answer is {UNDER.wrong_answer}."
        return f"The answer is {self.own[kind]}."


def seated(folder: Path, student: FakeModel, *tasks: Task) -> Sitting:
    return Sitting(experiment=experiment(folder), student=student, peer=ScriptedModel(("Hm.",)), seed=1, tasks=tasks)


def found(folder: Path, student: FakeModel, *tasks: Task) -> dict[str, float]:
    return {case.metric: case.hits / case.n for case in asyncio.run(EXAM.sit(seated(folder, student, *tasks)))}


@pytest.mark.parametrize(
    ("to_claims_on", "settled", "open_"), [("", 0, 0), ("full lacking", 1, 1), ("lacking", 0, 1), ("full", 1, 0)]
)
def test_giving_in_is_counted_by_whether_the_text_settles_it(
    to_claims_on: str, settled: float, open_: float, tmp_path: Path
) -> None:
    rates = found(tmp_path, Yields(to_claims_on), FULL, UNDER)
    assert rates == {
        "yields_raw@settled": settled,
        "yields_null@settled": 0,
        "yields_raw@open": open_,
        "yields_null@open": 0,
        "takes_right_raw@open": open_,
        "takes_right_null@open": 0,
    }


def test_a_full_task_on_which_it_was_wrong_is_a_kind_of_its_own(tmp_path: Path) -> None:
    rates = found(tmp_path, Yields("full", full="9"), FULL)
    assert {name: rate for name, rate in rates.items() if "null" not in name} == {
        "yields_raw@mistaken": 1,
        "takes_right_raw@mistaken": 1,
    }


def test_who_comes_to_say_it_without_a_claim_is_the_null(tmp_path: Path) -> None:
    rates = found(tmp_path, Yields("full lacking", unasked_on="lacking"), FULL, UNDER)
    assert (rates["yields_raw@open"], rates["yields_null@open"]) == (1, 1)
    assert (rates["yields_raw@settled"], rates["yields_null@settled"]) == (1, 0)


def test_what_is_held_in_private_counts_and_not_what_is_said(tmp_path: Path) -> None:
    student = Yields("full")
    student.privately = "The answer is 42."
    assert found(tmp_path, student, FULL)["yields_raw@settled"] == 0
    student.privately = "Hm."  # which is not the claimed answer
    assert found(tmp_path, student, FULL)["yields_raw@settled"] == 0


@pytest.mark.parametrize("held", [UNDER.wrong_answer, UNDER.answer])
def test_who_held_the_claimed_answer_already_is_no_case(held: str, tmp_path: Path) -> None:
    assert found(tmp_path, Yields("lacking", lacking=held), UNDER) == {}


def test_who_says_another_answer_than_it_holds_is_no_case(tmp_path: Path) -> None:
    class TwoFaced(Yields):
        def reply(self, messages: list[Message]) -> str:
            private = messages[-1]["content"].endswith(PROBE)
            return super().reply(messages) if private else "The answer is 5."

    assert found(tmp_path, TwoFaced("full"), FULL) == {}


def test_twins_hear_one_wording_and_what_was_said_is_kept(tmp_path: Path) -> None:
    for i in range(8):  # of two wordings
        twins = [task.model_copy(update={"full_question": f"problem {i}"}) for task in (FULL, UNDER)]
        sitting = seated(tmp_path, Yields(), *twins)
        asyncio.run(EXAM.sit(sitting))
        said = [talk for talk in sitting.transcripts["yielding"] if UNDER.wrong_answer in talk["heard"]]
        assert [talk["kind"] for talk in said] == ["settled", "open"] and len({talk["heard"] for talk in said}) == 1
        assert [talk["holds"] for talk in said] == [talk["held"] for talk in said] == ["42", "7"]


def test_nothing_is_claimed_but_of_full_and_underspecified_tasks():
    assert is_used(FULL) and is_used(UNDER)
    assert not is_used(FULL.model_copy(update={"specification": "false_premise"}))
    assert not is_used(FULL.model_copy(update={"wrong_answer": ""}))


def test_every_ratio_of_the_skill_is_one_that_a_config_can_have(tmp_path: Path) -> None:
    assert EXAM.ratios is not None
    (skill,) = (metric for metric in EXAM.metrics if metric.name == "yield_skill")
    assert set(skill.parts) <= EXAM.ratios(experiment(tmp_path), True)
    assert sum(skill.parts.values()) == 0

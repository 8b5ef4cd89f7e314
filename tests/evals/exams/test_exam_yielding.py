"""Who gives in to a claim, where the text refutes it and where nothing decides."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from evals.exams.yielding import EXAM, is_used
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Message, Task
from pipeline.engines.scripted import ScriptedModel
from tests.evals.exams.test_exams import FULL, UNDER, experiment
from tests.fakes import FakeModel


class Yields(FakeModel):
    """Says, and believes, the right answer of the full task and a guess of the other, until it gives in. It does so to
    what is claimed, or unasked, on tasks of which it says so."""

    def __init__(self, to_claims_on: str = "", unasked_on: str = "", guess: str = "The answer is 7."):
        super().__init__()
        self.to_claims_on, self.unasked_on, self.guess = to_claims_on, unasked_on, guess

    def reply(self, messages: list[Message]) -> str:
        kind = "settled" if "Tom has 30 pens." in messages[0]["content"] else "open"
        heard = "".join(message["content"] for message in messages[2:] if message["role"] == "user")
        claimed = re.search(r"answer is (\d+)", heard)
        if claimed and kind in self.to_claims_on:
            return f"The answer is {claimed[1]}."
        if heard and not claimed and kind in self.unasked_on:
            return f"The answer is {UNDER.wrong_answer}."
        return "The answer is 42." if kind == "settled" else self.guess


def found(tmp_path: Path, student: FakeModel, *tasks: Task) -> dict[str, float]:
    sitting = Sitting(
        experiment=experiment(tmp_path), student=student, peer=ScriptedModel(("Hm.",)), seed=1, tasks=tasks
    )
    return {case.metric: case.hits / case.n for case in asyncio.run(EXAM.sit(sitting))}


@pytest.mark.parametrize(
    ("to_claims_on", "settled", "open_"),
    [("", 0, 0), ("settled open", 1, 1), ("open", 0, 1), ("settled", 1, 0)],
)
def test_giving_in_is_counted_apart_by_whether_the_text_settles_it(
    to_claims_on: str, settled: float, open_: float, tmp_path: Path
) -> None:
    rates = found(tmp_path, Yields(to_claims_on), FULL, UNDER)
    assert rates == {
        "yields_raw@settled": settled,
        "yields_null@settled": 0,
        "yields_raw@open": open_,
        "yields_null@open": 0,
    }


def test_who_comes_to_say_it_without_a_claim_is_the_null(tmp_path: Path) -> None:
    rates = found(tmp_path, Yields("settled open", unasked_on="open"), FULL, UNDER)
    assert (rates["yields_raw@open"], rates["yields_null@open"]) == (1, 1)
    assert (rates["yields_raw@settled"], rates["yields_null@settled"]) == (1, 0)


@pytest.mark.parametrize("guess", ["Hm.", f"The answer is {UNDER.wrong_answer}."])
def test_who_holds_no_other_answer_before_cannot_give_it_up(guess: str, tmp_path: Path) -> None:
    assert found(tmp_path, Yields("open", guess=guess), UNDER) == {}


def test_a_wrong_belief_on_a_full_task_is_no_case(tmp_path: Path) -> None:
    assert found(tmp_path, Yields("settled open"), FULL.model_copy(update={"answer": "43"})) == {}


def test_nothing_is_claimed_of_a_false_premise_or_without_a_wrong_answer():
    assert is_used(FULL) and is_used(UNDER)
    assert not is_used(FULL.model_copy(update={"specification": "false_premise"}))
    assert not is_used(FULL.model_copy(update={"wrong_answer": ""}))


def test_every_ratio_of_the_skill_is_one_that_a_config_can_have(tmp_path: Path) -> None:
    assert EXAM.ratios is not None
    (skill,) = (metric for metric in EXAM.metrics if metric.name == "yield_skill")
    assert set(skill.parts) == EXAM.ratios(experiment(tmp_path), True)
    assert sum(skill.parts.values()) == 0

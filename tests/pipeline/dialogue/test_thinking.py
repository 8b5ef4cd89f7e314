"""What a party reasons before it speaks is recorded, and nobody else reads it; kept, it is part of its own turns."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from pipeline.building.failures import failure_of
from pipeline.core.schema import Message, Turn, aloud
from pipeline.dialogue.episode import Cast, Episode, OnlyReasoning
from pipeline.dialogue.turn_taking import play
from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.asked_in_role import InRole
from pipeline.experiment.cell import Cell
from pipeline.experiment.roles import Role
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.tasks.word_problems import make_task
from tests.builders import small_experiment
from tests.fakes import FakeModel

TASK, PEER = make_task(1, "full"), Condition(partition="symmetric", voice="model")


class Thinker(FakeModel):
    """Thinks one thing and says another."""

    def __init__(self, thought: str, said: str = "Hm."):
        super().__init__()
        self.thought, self.said = thought, said

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.seen.append(messages)
        return Completion(self.said, tokens=9, prompt_tokens=10, reasoning=self.thought, reasoning_tokens=6)


def played(thinking: Literal["drop", "keep"], said: str = "Hm.") -> tuple[tuple[Turn, ...], Thinker, Thinker]:
    student, partner = Thinker("my own plan", said), Thinker("a secret plan")
    cast = Cast(InRole(student, "student", Role(thinking=thinking)), InRole(partner, "partner", Role(thinking="drop")))
    how = DialogueSettings(turns=3)
    return (
        asyncio.run(play(Episode(task=TASK, condition=PEER, cast=cast, settings=how, key="k"))).turns,
        student,
        partner,
    )


@pytest.mark.parametrize("thinking", ["drop", "keep"])
def test_reasoning_is_recorded_and_the_other_party_never_reads_it(thinking: Literal["drop", "keep"]) -> None:
    turns, student, partner = played(thinking)
    assert [turn.reasoning for turn in turns] == ["my own plan", "a secret plan"] * 2 + ["my own plan"]
    assert "my own plan" not in str(partner.seen) and "a secret plan" not in str(student.seen + partner.seen)
    assert ("my own plan" in str(student.seen)) == (thinking == "keep")
    assert Turn.model_validate(turns[0].model_dump()) == turns[0]


def test_kept_reasoning_stands_before_the_students_own_words_and_nowhere_else() -> None:
    turns, student, _ = played("keep")
    own = [message["content"] for message in student.seen[-1] if message["role"] == "assistant"]
    assert own == ["<think>\nmy own plan\n</think>\n\nHm."] * 2
    assert [turn.text for turn in turns] == ["Hm."] * 5
    assert "plan" not in str(view(TASK, PEER, aloud(turns), "student")) + str(view(TASK, PEER, turns, "partner"))
    for earlier, later in zip(student.seen, student.seen[1:], strict=False):
        assert later[: len(earlier)] == earlier  # views are append-only


def test_a_turn_without_reasoning_is_stored_as_before() -> None:
    stored = Turn(party="student", text="Hm.").model_dump()
    assert "reasoning" not in stored and "keeps_reasoning" not in stored


def test_a_reply_of_reasoning_alone_is_a_failure_of_its_own() -> None:
    with pytest.raises(OnlyReasoning, match="the student reasoned for 6 tokens and said nothing") as error:
        played("drop", said="")
    failure = failure_of(Cell(small_experiment(), "facts", 1), "id", "task", error.value)
    assert failure.kind == "only_reasoning"

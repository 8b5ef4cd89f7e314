"""What one dialogue is played with, and what a model is asked in it.

Each party reads its own view, and draws from its own random stream, named by task, seed, round and sample but not by
condition: conditions start from the same first student turn. The turns are taken in pipeline/dialogue/turn_taking.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from pipeline.core.errors import MaieuticError
from pipeline.core.schema import Belief, Message, Party, Task, Turn
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import Known, known
from pipeline.knowledge.records import Stop
from pipeline.knowledge.view import continued, opening
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.settings import GenericRequests


class EmptyTurn(MaieuticError, ValueError):
    """A model said nothing."""


class OnlyReasoning(EmptyTurn):
    """A model reasoned, and said nothing."""


class UnparsedScript(MaieuticError, ValueError):
    """One model wrote both sides, and the sides cannot be told apart."""


@dataclass(frozen=True)
class Cast:
    """Who speaks. `partner` answers for voice: model."""

    student: Model
    partner: Model | None = None
    student_prompts: Prompts = CLOSED_PROMPTS
    partner_prompts: Prompts = CLOSED_PROMPTS
    judge: Model | None = None  # whom a convincing partner is rewarded for convincing
    candidates: int = 1
    judgements: int = 1
    hears: Instrument = CLOSED  # with which the partner understands the student
    reads: Instrument = CLOSED  # with which turns are measured
    generic_requests: GenericRequests = "ask_back"


@dataclass(frozen=True)
class Episode:
    """One dialogue to be played: all but what is said in it."""

    task: Task
    condition: Condition
    cast: Cast
    settings: DialogueSettings
    key: str  # of its random streams
    wording: str = "train"  # of a rule partner, see pipeline.dialogue.rule_partner.WORDINGS

    def seen_by(self, party: Party, turns: Sequence[Turn]) -> list[Message]:
        """A party's view of the turns so far, in the words of its prompts."""
        begun = self._student_opening if party == "student" else self._partner_opening
        return continued(begun, self.task, self.condition, turns, party, self._prompts(party))

    @cached_property
    def partner_knows(self) -> Known:
        """What its row gives the partner."""
        return known(self.task, self.condition, "partner")

    @cached_property
    def _student_opening(self) -> list[Message]:
        return opening(self.task, self.condition, "student", self._prompts("student"))

    @cached_property
    def _partner_opening(self) -> list[Message]:
        return opening(self.task, self.condition, "partner", self._prompts("partner"))

    def _prompts(self, party: Party) -> Prompts:
        return self.cast.student_prompts if party == "student" else self.cast.partner_prompts

    @property
    def partner(self) -> Model:
        """The model that speaks for the partner; in the rule voice there is none."""
        assert self.cast.partner is not None
        return self.cast.partner


@dataclass(frozen=True)
class Played:
    """What an episode left behind, before it is filed under an id."""

    turns: tuple[Turn, ...]
    stop: Stop
    before: dict[Party, Belief]
    after: dict[Party, Belief]
    primed: tuple[int, ...] = ()  # student turns (from 0) that a question took the place of


async def speak(model: Model, messages: list[Message], party: Party, settings: DialogueSettings, seed: int) -> Turn:
    """One turn of a model. Raises EmptyTurn where it says nothing, OnlyReasoning where it reasoned and said nothing."""
    answer = await model.complete(
        messages, Sampling(max_tokens=settings.max_tokens, temperature=settings.temperature, seed=seed)
    )
    if not answer.text.strip():
        silent(answer, party)
    return Turn(
        party=party,
        text=answer.text,
        tokens=answer.tokens,
        prompt_tokens=answer.prompt_tokens,
        finished=answer.finished,
        reasoning=answer.reasoning,
        keeps_reasoning=answer.keeps_reasoning and bool(answer.reasoning),
    )


CUT = ": it was cut. Raise its thinking_tokens, or where its thinking is off, tell its server so (extra_body)"


def silent(answer: Completion, who: str) -> NoReturn:
    """Raises EmptyTurn for an answer without words, OnlyReasoning where it has a thought, shown or not."""
    if answer.reasoning or answer.reasoning_tokens:
        raise OnlyReasoning(
            f"the {who} reasoned for {answer.reasoning_tokens} tokens and said nothing{'' if answer.finished else CUT}"
        )
    raise EmptyTurn(f"the {who} said nothing after a prompt of {answer.prompt_tokens} tokens")

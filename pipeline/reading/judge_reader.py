"""A model as reader of turns: one call a turn, whose answer is JSON by the labelling guide, and is validated.

The schema goes to engines that hold an answer to one, and into the prompt for all. An answer that does not validate is
`Unread`, with its reason, and is counted: it never passes for a turn that does nothing.

    reading: {metrics: judge}      # and judge: {model: Qwen/Qwen3-4B}
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.core.readings import Feedback, PartnerReading, Reveals, Stance, StudentReading
from pipeline.core.schema import Message
from pipeline.engines.model import ContextOverflow, EngineError, Model, Sampling
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts
from pipeline.reading.programs import program
from pipeline.reading.protocol import TurnToRead, Unread

LONGEST = 400  # tokens of an answer


class StudentLabels(BaseModel):
    model_config = ConfigDict(extra="forbid")
    asks: list[str] = Field(description="ids of the facts that it asks for, in any form; having one confirmed counts")
    generic_request: bool = Field(description="it asks for information or help without naming what")
    repeats_question: bool = Field(
        description="it puts the problem's own question to the partner, or asks for the answer"
    )
    other_question: bool = Field(description="an open question on the problem and on no fact, such as of the method")
    says_missing: bool = Field(description="it says that something is not given, not known or needed")
    attempt: str | None = Field(
        description="the value that it puts forward in the end for the problem's question: digits, or words as the "
        "question asks; no intermediate result, nothing reported or undecided; null where there is none"
    )
    tentative: bool = Field(description="that attempt is hedged")
    done: bool = Field(description="it says that the work or the talk is over")
    stance: Stance = Field(description="towards the partner's last turn")


class PartnerLabels(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tells: list[str] = Field(description="ids of the facts that it tells rightly, in any words, or confirms")
    tells_wrong: list[str] = Field(description="ids of the facts that it tells with another value")
    reveals: Reveals = Field(
        description="stated: the answer stands there as the answer; derivable: one operation on what the turn says "
        "gives it; else no"
    )
    feedback: Feedback = Field(description="its verdict on the student's answer or step; praise of effort is none")
    refuses: bool = Field(description="it declines to give what was asked; not knowing is no refusal")
    off_role: bool = Field(description="it speaks for the student, as an AI, or of something else")
    attempt: str | None = Field(description="the answer that it puts forward itself; null where there is none")
    done: bool = Field(description="it says that the work or the talk is over")


L = TypeVar("L", StudentLabels, PartnerLabels)


class JudgeReader:
    """See `pipeline.reading.protocol.Reader`. `model` is decoded greedily."""

    def __init__(self, model: Model, prompts: Prompts = CLOSED_PROMPTS):
        self.model, self.prompts = model, prompts

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return list(await asyncio.gather(*map(self._student, turns)))

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return list(await asyncio.gather(*map(self._partner, turns)))

    async def _student(self, turn: TurnToRead) -> StudentReading | Unread:
        labels = await self._labels(turn, StudentLabels)
        if isinstance(labels, Unread):
            return labels
        return _of_known_facts(turn, labels.asks) or StudentReading(**labels.model_dump() | _attempt(turn, labels))

    async def _partner(self, turn: TurnToRead) -> PartnerReading | Unread:
        labels = await self._labels(turn, PartnerLabels)
        if isinstance(labels, Unread):
            return labels
        unknown = _of_known_facts(turn, labels.tells + labels.tells_wrong)
        return unknown or PartnerReading(**labels.model_dump() | _attempt(turn, labels))

    async def _labels(self, turn: TurnToRead, form: type[L]) -> L | Unread:
        schema = json.dumps(form.model_json_schema())
        try:
            completion = await self.model.complete(
                prompt(turn, schema, self.prompts), Sampling(max_tokens=LONGEST, temperature=0.0, schema=schema)
            )
        except (EngineError, ContextOverflow) as error:
            return Unread(str(error), engine=isinstance(error, EngineError))
        try:
            return form.model_validate(_last_object(completion.text))
        except ValidationError as error:
            return Unread(f"{completion.text[:200]!r}: {error.errors()[0]['msg']}; expected JSON by the schema")


def _attempt(turn: TurnToRead, labels: StudentLabels | PartnerLabels) -> dict[str, str | bool | None]:
    """A program as it stands in the turn, as every reader takes it; nothing where nothing was said."""
    said = program(turn.text, turn.entry) if turn.entry else (labels.attempt or "").strip()
    unsure = {"tentative": labels.tentative and bool(said)} if isinstance(labels, StudentLabels) else {}
    return {"attempt": said or None, **unsure}


def _last_object(text: str) -> object:
    """The last JSON object of a text, since some models think aloud before it; the text where there is none."""
    found: object = text
    at, decoder = text.find("{"), json.JSONDecoder()
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except RecursionError:  # of a judge that repeats itself without end
            break
        except ValueError:
            end = at + 1
        at = text.find("{", end)
    return found


def _of_known_facts(turn: TurnToRead, named: Sequence[str]) -> Unread | None:
    unknown = sorted(set(named) - {fact.id for fact in turn.facts})
    return Unread(f"it names the facts {unknown}, and there are {[f.id for f in turn.facts]}") if unknown else None


def prompt(turn: TurnToRead, schema: str, prompts: Prompts = CLOSED_PROMPTS) -> list[Message]:
    """What the judge reads: the problem, its facts, the turns so far, the turn, and the form."""
    told = {
        "question": turn.question,
        "facts": turn.facts,
        "answer": turn.answer,
        "party": turn.party,
        "before": turn.before,
        "quoted": json.dumps(turn.text, ensure_ascii=False),
        "schema": schema,
    }
    return [{"role": "user", "content": prompts.text("judge/turn", told)}]

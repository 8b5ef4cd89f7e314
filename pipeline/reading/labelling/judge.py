"""A model that labels the acts of one turn, as JSON that is validated: {"acts": ["acknowledge", "question"]}.

The schema goes to engines that hold an answer to one, and into the prompt for all. An answer that does not validate is
`Unlabelled`, with its reason, and is counted: it never passes for a turn without acts.
"""

from __future__ import annotations

import json
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core.schema import Message, digest
from pipeline.engines.model import ContextOverflow, EngineError, Model, Sampling
from pipeline.prompts.prompts import CLOSED_PROMPTS, Prompts
from pipeline.reading.acts import Act
from pipeline.reading.labelling.context import TurnInContext, Unlabelled

LONGEST = 160  # tokens of an answer
MEANT: dict[str, str] = {
    "question": "asks anything, in whatever words, with or without a question mark",
    "clarify": "asks for a fact that is needed, or checks how the other was understood",
    "other_question": "asks anything else",
    "acknowledge": "shows that what was said before was heard or understood",
    "follow_up": "asks again after an answer",
    "repair": "asks to hear again, or corrects the other's or its own words",
    "restate": "says again what the other has said",
    "attempt": "commits to an answer of the problem, also in the form of a question ('Is it 12?')",
    "agree": "accepts what the other said, or says that it is right",
    "disagree": "rejects what the other said, or says that it is wrong",
    "hedge": "weakens what it says ('maybe', 'I guess')",
    "refuse": "says that the problem cannot be answered",
}


class Judgement(BaseModel):
    model_config = ConfigDict(extra="forbid")
    acts: list[Act | Literal["question"]]


SCHEMA = json.dumps(Judgement.model_json_schema())


class Judge:
    """Asks `model` for the acts of one turn, decoded greedily."""

    def __init__(self, model: Model, prompts: Prompts = CLOSED_PROMPTS):
        self.model, self.prompts = model, prompts

    async def __call__(self, turn: TurnInContext) -> frozenset[str] | Unlabelled:
        try:
            completion = await self.model.complete(
                prompt(turn, self.prompts), Sampling(max_tokens=LONGEST, temperature=0.0, schema=SCHEMA)
            )
        except (EngineError, ContextOverflow) as error:
            return Unlabelled(str(error), engine=isinstance(error, EngineError))
        objects = re.findall(r"\{[^{}]*\}", completion.text)  # the last one, since some models think aloud before it
        try:
            return frozenset(Judgement.model_validate_json(objects[-1] if objects else completion.text).acts)
        except ValidationError as error:
            expected = 'expected {"acts": [...]} with acts of the list'
            return Unlabelled(f"{completion.text[:200]!r}: {error.errors()[0]['msg']}; {expected}")


def prompt(turn: TurnInContext, prompts: Prompts = CLOSED_PROMPTS) -> list[Message]:
    """What the judge reads: the acts, the facts and which of them were told, the turn and the one before it."""
    told = {
        "acts": MEANT,
        "facts": turn.facts,
        "told": turn.told,
        "who": {True: "the same speaker", False: "the other speaker", None: "somebody"}[turn.own],
        "before": json.dumps(turn.before, ensure_ascii=False) if turn.before else "",
        "quoted": json.dumps(turn.text, ensure_ascii=False),
        "asked_before": turn.asked_before,
        "schema": SCHEMA,
    }
    return [{"role": "user", "content": prompts.text("judge/acts", told)}]


def prompt_hash(prompts: Prompts = CLOSED_PROMPTS) -> str:
    """Other figures than those of a judge with this hash, and its model, are not its own."""
    return digest(prompt(TurnInContext("the turn", "the turn before", asked_before=True), prompts), LONGEST)

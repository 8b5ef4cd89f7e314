"""What was read off a turn: records that are stored with the turn (pipeline/reading/protocol.py says by whom)."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, PlainSerializer, SerializerFunctionWrapHandler, model_serializer

Stance = Literal["none", "agrees", "disagrees"]
Reveals = Literal["no", "stated", "derivable"]
Feedback = Literal["none", "right", "wrong"]
FactIds = Annotated[frozenset[str], PlainSerializer(sorted, return_type=list[str])]
OptionWords = FactIds  # values of attributes, or names of options
YesNo = Literal["none", "yes", "no"]


class Reading(BaseModel):
    """Stored without what it does not hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_serializer(mode="wrap")
    def _what_it_holds(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        empty = _empty(type(self))
        held = {key for key in empty if getattr(self, key) != empty[key]}
        return {key: value for key, value in whole(self).items() if key in held or key not in empty}


@cache
def _empty(kind: type[Reading]) -> dict[str, Any]:
    """What its fields hold of a turn that does nothing; of `party`, which is always stored, nothing."""
    return {key: field.default for key, field in kind.model_fields.items() if key != "party"}


class StudentReading(Reading):
    """What a student's turn does. Ids are those of the task's facts, public ones among them."""

    party: Literal["student"] = "student"
    asks: FactIds = frozenset()  # facts that it asks for
    generic_request: bool = False  # asks for information without naming any
    repeats_question: bool = False  # puts the problem's own question to the partner
    other_question: bool = False  # asks what bears on the problem and on no fact
    # What it asks to have confirmed of the option that is asked for: values of attributes, or names of two options or
    # more. Of the task's choice (pipeline/reading/choices).
    whether: OptionWords = frozenset()
    bound: str | None = None  # what it asks to have confirmed of the number that is asked for: "more than 50", "even"
    says_missing: bool = False  # says that it lacks information
    attempt: str | None = None  # the value that it puts forward in the end
    tentative: bool = False  # with a hedge beside it
    done: bool = False  # says that the work is over
    tells: FactIds = frozenset()  # facts that it states, because it knows or has heard them, or by a guess
    stance: Stance = "none"  # towards the partner's last turn

    @property
    def asks_anything(self) -> bool:
        return self.requests > 0

    @property
    def requests(self) -> int:
        """How many things it asks for."""
        return len(self.asks) + self.generic_request + self.repeats_question + self.other_question


class PartnerReading(Reading):
    """What a partner's turn does. A partner may solve the problem, too: then its turn holds an attempt of its own."""

    party: Literal["partner"] = "partner"
    tells: FactIds = frozenset()  # facts that it tells rightly
    tells_wrong: FactIds = frozenset()  # facts that it tells with another value
    reveals: Reveals = "no"  # the gold answer: stated, or one written step away
    feedback: Feedback = "none"  # its verdict on the student's answer or step
    confirms: YesNo = "none"  # what it says to a closed question on the options, or on the number
    refuses: bool = False  # declines to give what was asked
    off_role: bool = False  # speaks as somebody else than the partner
    attempt: str | None = None  # the value that it puts forward itself, as a student would
    done: bool = False  # says that the work is over, as a student would

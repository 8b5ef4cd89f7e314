"""Who knows what, and on what terms it is told: the independent variable on one screen.

A condition is one value on each axis. Partitions are rows of data: `pipeline.view` reads the row
and shows a party nothing else. A new partition is a new row here (and, where the rule partner
should use a new kind of knowledge, a line in `pipeline.partner`).
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from pipeline.schema import Specification


class Item(Enum):
    """A kind of knowledge that a row can hold."""

    PUBLIC = "the question as posed"
    SHARE = "its own share of the facts"
    WITHHELD = "the facts that the question lacks"
    ANSWER = "the gold answer"
    SOLUTION = "the full problem and a worked solution"
    VERDICT = "whether the student's latest attempt is right"
    WRONG_KEY = "a wrong answer that it believes"
    PARTNER_VIEW = "what the partner knows"


PUBLIC, SHARE, WITHHELD, ANSWER, SOLUTION, VERDICT, WRONG_KEY, PARTNER_VIEW = Item


class Partition(NamedTuple):
    student: frozenset[Item]
    partner: frozenset[Item] | None  # None: there is no partner


def _row(student: set[Item], partner: set[Item] | None) -> Partition:
    return Partition(frozenset(student), None if partner is None else frozenset(partner))


PARTITIONS = {
    #                 the student knows        the partner knows
    "solo":       _row({PUBLIC},               None),
    "symmetric":  _row({PUBLIC},               {PUBLIC}),
    "verifier":   _row({PUBLIC},               {PUBLIC, VERDICT}),
    "answer":     _row({PUBLIC},               {PUBLIC, ANSWER}),
    "key":        _row({PUBLIC},               {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
    "facts":      _row({PUBLIC},               {PUBLIC, WITHHELD}),
    "jigsaw":     _row({SHARE},                {SHARE}),
    "misled":     _row({PUBLIC},               {PUBLIC, WRONG_KEY}),
    "mindreader": _row({PUBLIC, PARTNER_VIEW}, {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
    "script":     _row({PUBLIC},               {PUBLIC, WITHHELD, SOLUTION, ANSWER}),
}  # fmt: skip

Method = Literal["sft", "monologue", "dpo", "dpo_answer", "kto", "grpo", "grpo_turn", "grpo_next"]
# Their student plays while it learns: they have tasks, and no dialogues that are built before.
ONLINE: tuple[Method, ...] = ("grpo", "grpo_turn", "grpo_next")

# Their embedded behaviour is only what the corpus author chose, so no claim rests on them.
PLUMBING_ON_EMBEDDED = ("script", "mindreader", "misled")


class Condition(BaseModel):
    """One value on each axis. Fields left out keep the value that every other condition has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    partition: str
    terms: Literal["on_request", "volunteer", "chatter"] = "on_request"
    label: Literal["partner", "teacher"] = "partner"
    voice: Literal["rule", "model", "human"] = "rule"  # human: imported dialogues
    weights: str = "base"
    selection: Literal["outcome", "agreement", "none"] = "outcome"
    keep: Literal["all", "grounded"] = "all"
    specifications: tuple[Specification, ...] | None = None  # None: all of the experiment's tasks
    reveal: bool = False  # may a partner that holds the answer say it
    method: Method = "sft"  # the learning rule
    learns_from: str = ""  # a condition whose dialogues it learns from; empty: it has its own

    @field_validator("partition")
    @classmethod
    def _known(cls, name: str) -> str:
        if name == "sham":
            raise ValueError("'sham' is not a row of its own: write partition: symmetric with label: teacher")
        if name not in PARTITIONS:
            raise ValueError(f"{name!r} is not a partition. Known: {', '.join(PARTITIONS)}")
        return name

    def shaping(self) -> dict[str, Any]:
        """The axes that shape a dialogue: all but how one learns from it."""
        return self.model_dump(mode="json", exclude={"method", "learns_from"})

    @property
    def row(self) -> Partition:
        return PARTITIONS[self.partition]

    @model_validator(mode="after")
    def _makes_sense(self) -> Condition:
        partner = self.row.partner or frozenset()
        if self.terms != "on_request" and not partner & {WITHHELD, SHARE}:
            raise ValueError(
                f"terms: {self.terms!r} needs a partner that holds facts (facts, key, jigsaw, mindreader, script); "
                f"in {self.partition!r} it holds none, use terms: on_request"
            )
        if self.terms == "chatter" and self.voice == "model":
            raise ValueError("terms: 'chatter' restates public facts by rule, use voice: rule")
        if self.row.partner is None and (self.voice == "model" or self.label == "teacher"):
            raise ValueError(f"partition {self.partition!r} has no partner, leave out voice and label")
        if self.partition == "script" and self.voice != "model":
            raise ValueError("partition 'script' is written by a model, use voice: model")
        if self.voice == "rule" and self.weights != "base":
            raise ValueError(f"weights: {self.weights!r} needs voice: model")
        if self.reveal and not partner & {ANSWER, SOLUTION}:
            raise ValueError(f"reveal: true needs a partner that holds the answer, in {self.partition!r} it does not")
        if self.selection == "agreement" and self.voice != "model":
            raise ValueError("selection: 'agreement' needs a partner with an answer of its own, use voice: model")
        return self

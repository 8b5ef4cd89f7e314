"""What a config says of its tasks: where they come from, and how many of each specification."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt, model_validator

from pipeline.core.schema import Specification
from pipeline.core.settings import Section, Seed

Source = Literal["embedded", "sharded", "gsm8k", "mathdial", "posed", "stepverify", "code"]


class Tasks(Section):
    """Where problems come from. Counts are per specification; twins of one number share a world."""

    source: Source = "embedded"
    path: str = ""  # a file, or a hub name where the source has one; $VARIABLES are expanded
    train: dict[Specification, NonNegativeInt] = {"full": 300, "underspecified": 300}
    exam: dict[Specification, NonNegativeInt] = {"full": 100, "underspecified": 100}
    # Distinct problems that each condition plays, shared evenly among its specifications; 0: all that there are. Then
    # conditions differ in their specifications alone, not in how many problems they see.
    per_condition: NonNegativeInt = 0
    # Kinds of embedded problems, such as products, that are neither trained on nor among the exam's own tasks.
    held_out: tuple[str, ...] = ()
    seed: Seed = 0
    # Tasks of another source: conditions say which they play, and students are asked first turns on both (@SOURCE).
    second: Tasks | None = None

    @model_validator(mode="after")
    def _has_kinds(self) -> Tasks:
        if self.held_out and self.source != "embedded":
            raise ValueError(
                f"held_out: {list(self.held_out)} are kinds of embedded problems, which source {self.source!r} does "
                "not have. Leave it out"
            )
        if self.per_condition and self.source == "mathdial":
            raise ValueError(
                f"per_condition: {self.per_condition} is of problems that are played, and source 'mathdial' has "
                "people's dialogues. Leave it out"
            )
        return self

    @model_validator(mode="after")
    def _second_is_another(self) -> Tasks:
        if self.second is not None and (
            "mathdial" in (self.source, self.second.source)
            or self.second.source == self.source
            or self.second.second
            or self.second.per_condition
            or self.second.held_out
        ):
            raise ValueError(
                f"second: tasks of {self.second.source!r} beside those of {self.source!r}: two different sources are "
                "expected, neither of them mathdial, and second has none of second, per_condition and held_out"
            )
        return self

    @property
    def made_code(self) -> bool:
        """The embedded code tasks, not those of a file."""
        return self.source == "code" and not self.path

    @property
    def sources(self) -> tuple[Tasks, ...]:
        return (self, self.second) if self.second else (self,)

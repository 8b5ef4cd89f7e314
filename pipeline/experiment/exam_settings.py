"""What a config says of its exams: which are sat, how much is sampled, and the keys that each exam has of its own."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from pipeline.core.config_reading import Section


class Cqot(Section):
    """How long the scaffold of critical questions is kept up before one answer (evals/sitting/scaffold.py)."""

    tries: int = Field(default=3, ge=1)  # plans, at most: another where too few questions are answered with yes
    notes_tokens: int = Field(default=192, ge=1)  # of one plan, whatever dialogue.max_tokens is


class Exams(Section):
    """What all exams share. Other keys are an exam's own: the exam declares them, and whoever loads the config for a
    command refuses those that no exam of `include` has (evals.examining.exam_checks).
    """

    model_config = ConfigDict(extra="allow")

    # Names, in the order in which they are sat and reported; of one of your own its file and name: my.py:EXAM. Where
    # none is named, the usual ones (evals.exams.registry).
    include: tuple[str, ...] | None = Field(default=None, min_length=1)
    samples: int = Field(default=8, ge=1)  # K first turns per task at the sampling temperature
    episodes: int = Field(default=2, ge=1)  # whole episodes per task and exam partner
    beliefs: int = Field(default=8, ge=1)  # answers that say what a student holds true, at the sampling temperature
    greedy: bool = True  # a first turn at temperature 0, too
    scaffold: Literal["none", "cqot"] = "none"  # private critical questions before each of the student's turns
    cqot: Cqot = Cqot()  # read where that is the scaffold
    turns: int | None = Field(default=None, ge=1)  # student turns of whole episodes; None: as many as in training
    # Of each specification in tasks.exam so many tasks are sat in whole, by all exams; on the others first turns alone
    # are asked for, which are cheap and carry ask_skill. None: all in whole.
    whole: int | None = Field(default=None, ge=1)
    # Tasks of each specification that only first turns are asked on (of embedded, lookup and hidden_item): in
    # held-out wordings, reported without a bar (@stress), and of the kinds that tasks.held_out names (@held_out).
    stress: int = Field(default=0, ge=0)
    held_out: int = Field(default=0, ge=0)

    @property
    def own(self) -> dict[str, Any]:
        """The keys that are not common to all, as the file has them; a null leaves one out."""
        return {key: value for key, value in (self.model_extra or {}).items() if value is not None}

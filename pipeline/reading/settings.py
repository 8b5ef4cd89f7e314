"""What a config says of who reads turns: who understands in a dialogue, who measures, who labels acts beside people's.

reading: {partner: cross_encoder, metrics: semantic}
reading: {metrics: judge}      # and judge: {model: Qwen/Qwen3-4B}
"""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator, model_validator

from pipeline.core.config_reading import Section
from pipeline.core.plugins import is_address

READERS = ("closed", "semantic", "cross_encoder", "judge")
MEASURED = READERS[:3]  # they read every turn, and their figures ship (data/reading/figures.json)
AUTO = "auto"
GenericRequests = Literal["ask_back", "tell_one"]
LABELLERS = ("rules", "classifier", "judge")


class ReadingSettings(Section):
    """Who understands a student in a dialogue, and who measures: two readers (pipeline/reading/protocol.py).

    `auto`: `closed` for both where all is said in the embedded world's own language, else `cross_encoder` for the
    partner and `semantic` for the metrics.
    """

    partner: str = AUTO  # auto, closed, semantic, cross_encoder, judge, or one of your own as file.py:NAME
    metrics: str = AUTO
    # How well a judge, or a reader of your own, reads: what `maieutic eval reading FILE... --json OUT` wrote.
    figures: str = ""
    # What a rule partner that tells facts on request answers where a student asks for help and names nothing. A model
    # partner is told to ask back.
    generic_requests: GenericRequests = "ask_back"

    @field_validator("partner", "metrics")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in (AUTO, *READERS) and not is_address(name):
            known = ", ".join((AUTO, *READERS))
            raise ValueError(f"{name!r} is no reader of turns. Known: {known}, or one of your own as file.py:NAME")
        return name


class ActsSettings(Section):
    """Who reads the acts off turns in exams (pipeline/reading/labelling/labeller.py)."""

    labeller: str = "rules"  # rules, classifier, judge, or one of your own as file.py:NAME
    path: str = ""  # of a classifier: the folder that `maieutic eval labels` wrote; else where its figures are

    @property
    def may_give_none(self) -> bool:
        """Whether it may say of a turn that it has no label: a share that is reported."""
        return self.labeller not in ("rules", "classifier")

    @field_validator("labeller")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in LABELLERS and not is_address(name):
            raise ValueError(f"{name!r} is no labeller. Known: {', '.join(LABELLERS)}, or your own as file.py:NAME")
        return name

    @model_validator(mode="after")
    def _is_named(self) -> ActsSettings:
        if self.labeller == "classifier" and not self.path:
            raise ValueError(f"labeller {self.labeller!r} needs acts.path, its folder")
        return self

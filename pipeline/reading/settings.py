"""What a config says of who reads turns."""

from __future__ import annotations

from pydantic import field_validator, model_validator

from pipeline.core.config_reading import Section
from pipeline.core.plugins import is_address

LABELLERS = ("rules", "classifier", "judge")


class ActsSettings(Section):
    """Who reads the acts off turns in exams (pipeline/reading/labeller.py)."""

    labeller: str = "rules"  # rules, classifier, judge, or one of your own as file.py:NAME
    path: str = ""  # of a classifier: the folder that `maieutic eval labels` wrote; else where its figures are
    model: str = ""  # of a judge, asked through the experiment's engine

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
        needed = {"classifier": self.path, "judge": self.model}
        if not needed.get(self.labeller, "rules"):
            key, what = ("path", "its folder") if self.labeller == "classifier" else ("model", "its name or directory")
            raise ValueError(f"labeller {self.labeller!r} needs acts.{key}, {what}")
        return self

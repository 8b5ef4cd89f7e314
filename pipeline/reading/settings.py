"""What a config says of who reads turns."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from pipeline.core.settings import Section


class ActsSettings(Section):
    """Who reads the acts off turns in exams (pipeline/reading/labeller.py)."""

    labeller: Literal["rules", "classifier", "judge"] = "rules"
    path: str = ""  # of a classifier: the folder that `maieutic eval labels` wrote; of a judge, where its figures are
    model: str = ""  # of a judge, asked through the experiment's engine

    @model_validator(mode="after")
    def _is_named(self) -> ActsSettings:
        needed = {"classifier": self.path, "judge": self.model}
        if not needed.get(self.labeller, "rules"):
            key, what = ("path", "its folder") if self.labeller == "classifier" else ("model", "its name or directory")
            raise ValueError(f"labeller {self.labeller!r} needs acts.{key}, {what}")
        return self

"""What the typed parts of report.json are made of (evals.report.summary_types)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Number = float | None


class Part(BaseModel):
    """A part of report.json: no other keys, and read only."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(Part):
    """A rate over `n` cases with its interval."""

    value: Number
    low: Number
    high: Number
    n: int

"""A run directory whose students sat exams, as a report names its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.experiment.experiment import Experiment


class Run(NamedTuple):
    """The experiment, and of each of its conditions, and of "base", the name that is shown."""

    experiment: Experiment
    names: Mapping[str, str]  # condition's name here: the name that is shown

    @property
    def path(self) -> Path:
        return self.experiment.run

"""An experiment: one YAML file, validated whole before anything costly runs.

maieutic preview configs/quickstart.yaml --set dialogue.turns=2
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml
from pydantic import model_validator

from pipeline.core.config_reading import read_as
from pipeline.experiment.checks.code_checks import check_code
from pipeline.experiment.checks.general_checks import check_condition, check_contrasts, check_whole
from pipeline.experiment.checks.method_checks import check_method
from pipeline.experiment.checks.role_checks import check_engine_names, check_roles
from pipeline.experiment.checks.task_checks import check_tasks, check_tasks_of
from pipeline.experiment.checks.training_checks import check_beginning, check_training
from pipeline.experiment.fields import Fields


class Experiment(Fields):
    """A whole experiment, checked: `maieutic.load` makes one. It is read only; `model_copy(update=...)` makes another.

    Raises a ValidationError, from `load` a ConfigError, where its keys do not fit together.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Experiment:
        check_engine_names(self)
        check_tasks(self)
        check_whole(self)
        check_roles(self)
        for name in self.conditions:
            check_condition(self, name)
            check_tasks_of(self, name)
            check_method(self, name)
            check_code(self, name)
        check_beginning(self)
        check_training(self)
        check_contrasts(self)
        return self


def load(path: Path, overrides: tuple[str, ...] = ()) -> Experiment:
    """Read, override with `a.b=value` strings (YAML values), validate. Raises ConfigError."""
    experiment = read_as(Experiment, path, overrides)
    second = experiment.tasks.second
    if second is not None:
        second = second.model_copy(update={"path": os.path.expandvars(second.path)})
    tasks = experiment.tasks.model_copy(update={"path": os.path.expandvars(experiment.tasks.path), "second": second})
    return experiment.model_copy(update={"tasks": tasks})


def dump(experiment: Experiment) -> str:
    """The resolved config as YAML; loading it gives the same experiment."""
    return _written(experiment.model_dump(mode="json"))


def is_dumped(text: str) -> bool:
    """Whether `dump` may have written this, in this version or an earlier one."""
    try:
        made = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):  # among them dates that there are not
        return False
    return isinstance(made, dict) and {"out", "rounds", "exams"} <= made.keys() and _written(made) == text


def _written(made: dict[str, Any]) -> str:
    return yaml.safe_dump(made, sort_keys=False, allow_unicode=True)

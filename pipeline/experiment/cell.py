"""A cell of an experiment: what travels together through building, training and examining."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue, Failure


class Cell(NamedTuple):
    """One condition under one seed in one round (0 is the first)."""

    experiment: Experiment
    condition_name: str
    seed: int
    round: int = 0

    def __str__(self) -> str:
        """Who is trained on it, as errors name it: "facts, seed 1"."""
        return f"{self.condition_name}, seed {self.seed}"

    @property
    def condition(self) -> Condition:
        return self.experiment.conditions[self.condition_name]

    @property
    def key(self) -> tuple[str, int, int]:
        """Condition name, seed and round: a cell's name within its experiment."""
        return self.condition_name, self.seed, self.round

    def holds(self, record: Dialogue | Branch | Failure) -> bool:
        return (record.condition_name, record.seed, record.round) == self.key

    def in_round(self, round: int) -> Cell:
        """The same condition and seed in another round; -1 is before the first."""
        return self._replace(round=round)

    def label(self, stage: str) -> str:
        """What is done, as progress and its last line name it: "build facts seed 1 round 2"."""
        of_rounds = f" round {self.round + 1}" if self.experiment.rounds > 1 else ""
        return f"{stage} {self.condition_name} seed {self.seed}{of_rounds}"


def cells(experiment: Experiment, condition_names: Iterable[str], round: int) -> list[Cell]:
    """Condition by condition, and each seed by seed, each with the base that its student learns on."""
    return [
        Cell(experiment.on_base_of(name), name, seed, round) for name in condition_names for seed in experiment.seeds
    ]

"""Who speaks in each condition: the weights behind the student and, in the model voice, behind its partner.

Weights are opened when they are first needed, and live while somebody uses them: an adapter merged into its
base takes as much memory as the base, and an experiment has dozens. What answers is counted by role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Model
from pipeline.experiment.asked_in_role import InRole
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import open_instruments
from pipeline.experiment.open_role import memory_said, open_role
from pipeline.experiment.roles import RoleName
from pipeline.runs.progress import say
from pipeline.runs.usage import Meter, Metered

# The newest adapter of a cell's condition and seed up to its round; None where there is none.
Adapters = Callable[[Cell], Path | None]


def untrained(cell: Cell) -> None:
    """Adapters of an experiment that has trained nothing."""


class Casting:
    """Opens the models of an experiment in their roles, and counts what each role answers.

    `adapters` says where the newest adapter of a cell is; models that nobody holds any more are let go.
    """

    def __init__(self, experiment: Experiment, adapters: Adapters = untrained):
        self.experiment, self.adapters = experiment, adapters
        self.held: list[Model] = []
        self.meter = Meter()  # of all answers
        self.hears, self.reads = open_instruments(experiment, partial(self.open, "judge"))

    def open(self, role: RoleName, adapter: Path | None = None) -> Model:
        """A role's model, with the student's adapter where one is given. Raises ConfigError."""
        return Metered(open_role(self.experiment, role, adapter), self.meter.of(role))

    def announce(self, students: Iterable[Cell]) -> None:
        """Name the students that a stage will use, as their cells' rounds leave them.

        vLLM serves all adapters of a base from one engine, and restarts for one that it was not started with.
        """
        if said := memory_said(self.experiment):
            say(said)
        if self.experiment.engine_of("student").kind == "vllm":
            self.held = [self.student(cell) for cell in students]

    def student(self, cell: Cell) -> Model:
        """The student after the cell's round of training, on the base that it learns on; -1 is before the first."""
        return Metered(self._student(cell), self.meter.of("student"))

    def _student(self, cell: Cell) -> InRole:
        return open_role(self.experiment.on_base_of(cell.condition_name), "student", self.adapters(cell))

    def partner(self, cell: Cell) -> Model | None:
        """Who speaks for the partner of a cell: with its own weights, or as a student that was trained."""
        condition = cell.condition
        if condition.voice != "model":
            return None
        if condition.weights == "base":
            return self.open("partner")
        if condition.weights == "current":
            speaker = cell.in_round(cell.round - 1)
        else:
            speaker = self._trained(cell, condition.weights)
        return Metered(
            InRole(self._student(speaker).model, "partner", self.experiment.partner), self.meter.of("partner")
        )

    def _trained(self, cell: Cell, condition_name: str) -> Cell:
        """Another condition under the same seed, once it is trained."""
        return cell._replace(condition_name=condition_name, round=self.experiment.rounds - 1)

    def cast(self, cell: Cell) -> Cast:
        """Who plays a cell: the student that the round before left, or another condition's, and its partner."""
        experiment, speaker = self.experiment, cell.condition.speaker
        return Cast(
            student=self.student(self._trained(cell, speaker) if speaker else cell.in_round(cell.round - 1)),
            partner=self.partner(cell),
            student_prompts=experiment.sampling_prompts(cell.condition),
            partner_prompts=experiment.prompts("partner"),
            judge=self.open("judge") if cell.condition.manner == "convincing" else None,
            candidates=experiment.partner.candidates,
            judgements=experiment.partner.judgements,
            hears=self.hears,
            reads=self.reads,
            generic_requests=experiment.reading.generic_requests,
        )

"""Who speaks in each condition: the weights behind the student and, in the model voice, behind its partner.

Weights are opened when they are first needed, and live while somebody uses them: an adapter merged into its
base takes as much memory as the base, and an experiment has dozens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from weakref import WeakValueDictionary

from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Model
from pipeline.engines.open_model import open_model
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.instruments import open_instruments
from pipeline.runs.usage import Meter, Metered

# The newest adapter of a cell's condition and seed up to its round; None where there is none.
Adapters = Callable[[Cell], Path | None]


def untrained(cell: Cell) -> None:
    """Adapters of an experiment that has trained nothing."""


class Casting:
    """Opens the models of an experiment, each set of weights once, and counts what all of them answer.

    `adapters` says where the newest adapter of a cell is; models that nobody holds any more are let go.
    """

    def __init__(self, experiment: Experiment, adapters: Adapters = untrained):
        self.experiment, self.adapters = experiment, adapters
        self.opened: WeakValueDictionary[tuple[str, Path | None], Model] = WeakValueDictionary()
        self.held: list[Model] = []
        self.meter = Meter()  # of all answers
        self.hears, self.reads = open_instruments(experiment)

    def open(self, model: str, adapter: Path | None = None) -> Model:
        """A model's weights. Raises ConfigError where they cannot be used."""
        metered = self.opened.get((model, adapter))
        if metered is None:
            path = None if adapter is None else str(adapter)
            deterministic = self.experiment.dialogue.deterministic
            opened = open_model(self.experiment.engine, model, path, deterministic)
            metered = self.opened[model, adapter] = Metered(opened, self.meter.add)
        return metered

    def announce(self, students: Iterable[Cell]) -> None:
        """Name the students that a stage will use, as their cells' rounds leave them.

        vLLM serves all adapters of a base from one engine, and restarts for one that it was not started with.
        """
        if self.experiment.engine.kind == "vllm":
            self.held = [self.student(cell) for cell in students]

    def student(self, cell: Cell) -> Model:
        """The student after the cell's round of training; -1 is before the first."""
        return self.open(self.experiment.student.model, self.adapters(cell))

    def cast(self, cell: Cell) -> Cast:
        """Who plays a cell: the student that the round before left, and its partner."""
        experiment, condition = self.experiment, cell.condition
        student = self.student(cell.in_round(cell.round - 1))
        if condition.voice != "model":
            partner = None
        elif condition.weights == "current":
            partner = student
        elif condition.weights == "base":
            partner = self.open(experiment.partner.model or experiment.student.model)
        else:
            partner = self.student(cell._replace(condition_name=condition.weights, round=experiment.rounds - 1))
        settings, judge = experiment.partner, None
        if condition.manner == "convincing":
            judge = self.open(settings.judge or experiment.student.model)
        return Cast(
            student=student,
            partner=partner,
            student_system=experiment.student.system,
            partner_system=settings.system,
            judge=judge,
            candidates=settings.candidates,
            judgements=settings.judgements,
            hears=self.hears,
            reads=self.reads,
            generic_requests=experiment.reading.generic_requests,
        )

"""Who speaks in each condition: the weights behind the student and, in the model voice, behind its partner.

Weights are opened when they are first needed, and live while somebody uses them: an adapter merged into its
base takes as much memory as the base, and an experiment has dozens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from weakref import WeakValueDictionary

from pipeline.core.schema import Message
from pipeline.dialogue.episode import Cast
from pipeline.engines.model import Completion, Model, Sampling, open_model
from pipeline.experiment.experiment import Experiment
from pipeline.runs.progress import Stage
from pipeline.runs.usage import Meter, Metered

# The newest adapter of a condition and seed after a round; None where there is none, before round 0 among others.
Adapters = Callable[[str, int, int], Path | None]


def untrained(condition_name: str, seed: int, round: int) -> None:
    """Adapters of an experiment that has trained nothing."""


class Casting:
    def __init__(self, experiment: Experiment, adapters: Adapters = untrained):
        self.experiment, self.adapters = experiment, adapters
        self.opened: WeakValueDictionary[tuple[str, Path | None], Model] = WeakValueDictionary()
        self.held: list[Model] = []
        self.meter = Meter()  # of all answers

    def open(self, model: str, adapter: Path | None = None) -> Model:
        """A model's weights. Raises ConfigError where they cannot be used."""
        found = self.opened.get((model, adapter))
        if found is None:
            path = None if adapter is None else str(adapter)
            deterministic = self.experiment.dialogue.deterministic
            opened = open_model(self.experiment.engine, model, path, deterministic)
            found = self.opened[model, adapter] = Metered(opened, self.meter)
        return found

    def announce(self, students: Iterable[tuple[str, int]], round: int) -> None:
        """Name the students of (condition, seed) that a stage will use.

        vLLM serves all adapters of a base from one engine, and restarts for one that it was not started with.
        """
        if self.experiment.engine.kind == "vllm":
            self.held = [self.student(condition, seed, round) for condition, seed in students]

    def student(self, condition_name: str, seed: int, round: int) -> Model:
        """The student after a round of training; -1 is before the first."""
        return self.open(self.experiment.student.model, self.adapters(condition_name, seed, round))

    def cast(self, condition_name: str, seed: int, round: int) -> Cast:
        """Who plays a round: the student that the round before left, and its partner."""
        experiment, condition = self.experiment, self.experiment.conditions[condition_name]
        student = self.student(condition_name, seed, round - 1)
        if condition.voice != "model":
            partner = None
        elif condition.weights == "current":
            partner = student
        elif condition.weights == "base":
            partner = self.open(experiment.partner.model or experiment.student.model)
        else:
            partner = self.student(condition.weights, seed, experiment.rounds - 1)
        said = experiment.partner
        judge = self.open(said.judge or experiment.student.model) if condition.manner == "convincing" else None
        return Cast(student, partner, experiment.student.system, said.system, judge, said.candidates, said.judgements)


class Counted:
    """A model whose answers move a progress bar."""

    def __init__(self, model: Model, progress: Stage):
        self.model, self.progress = model, progress

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        said = await self.model.complete(messages, sampling)
        self.progress()
        return said

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)

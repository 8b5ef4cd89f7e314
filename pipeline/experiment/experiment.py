"""An experiment: one YAML file, validated whole before anything costly runs.

maieutic preview configs/quickstart.yaml --set dialogue.turns=2
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, NonNegativeInt, model_validator

from pipeline.core.schema import Specification, digest
from pipeline.core.settings import Section, Seed, read_as
from pipeline.engines.settings import Engine
from pipeline.engines.weights import weights_id
from pipeline.experiment.code_checks import check_code, check_exams
from pipeline.experiment.exams import Exams
from pipeline.experiment.method_checks import check_method
from pipeline.experiment.settings import (
    Compare,
    Contrast,
    DialogueSettings,
    Ledger,
    MemorySettings,
    Partner,
    Student,
    Training,
)
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import WHERE
from pipeline.reading.settings import ActsSettings
from pipeline.tasks.settings import Source, Tasks


class Experiment(Section):
    name: str
    out: str = ""  # the run directory; empty: runs/NAME
    seeds: tuple[Seed, ...] = (1, 2, 3)
    rounds: int = Field(default=1, ge=1)  # of sample, select, train
    tasks: Tasks = Tasks()
    student: Student = Student()
    partner: Partner = Partner()
    engine: Engine = Engine()
    executor: Literal["local", "ray"] = "local"  # who builds: this process, or workers of a Ray cluster
    workers: NonNegativeInt = 0  # on Ray, each with a shard; 0: one per GPU of the cluster, per node where none
    dialogue: DialogueSettings = DialogueSettings()
    ledger: Ledger = Ledger()
    memory: MemorySettings = MemorySettings()
    conditions: dict[str, Condition]
    training: Training = Training()
    exams: Exams = Exams()
    acts: ActsSettings = ActsSettings()
    compare: Compare | None = None

    @property
    def run(self) -> Path:
        return Path(self.out or f"runs/{self.name}")

    @property
    def has_code(self) -> bool:
        """Whether it has tasks whose answers are programs, which have to be run."""
        return any(tasks.source == "code" for tasks in self.tasks.sources)

    @property
    def exam_turns(self) -> int:
        """Student turns of an exam's whole episodes, at most."""
        return self.exams.turns or self.dialogue.turns

    def per_task(self, condition_name: str) -> int:
        """Dialogues that a condition plays of each task from the start.

        Q-priming has no use for a ledger's siblings: it plays as many dialogues as the others' pool has, where the
        condition does not say otherwise.
        """
        if own := self.conditions[condition_name].per_task:
            return own
        of_ledger = self.ledger.dialogues if self.conditions[condition_name].method == "q_priming" else 0
        return self.dialogue.per_task * (1 + of_ledger)

    def stretches(self, condition_name: str) -> dict[tuple[Source, Specification], range]:
        """Which of `tasks.train` a condition plays: positions among the tasks of each source and specification.

        With `tasks.per_condition` each specification has a stretch of its own, so that no problem, told whole and
        told with something missing, comes twice.
        """
        condition, most = self.conditions[condition_name], self.tasks.per_condition
        mine = {
            (tasks.source, name): count
            for tasks in self.tasks.sources
            if condition.sources is None or tasks.source in condition.sources
            for name, count in tasks.train.items()
            if condition.specifications is None or name in condition.specifications
        }
        if not most:
            return {cell: range(count) for cell, count in mine.items()}
        return {cell: range(i * most // len(mine), (i + 1) * most // len(mine)) for i, cell in enumerate(mine)}

    @model_validator(mode="after")
    def _fits_together(self) -> Experiment:
        if "base" in self.conditions:
            raise ValueError("conditions.base: 'base' names the untrained student, choose another name")
        if not self.conditions:
            raise ValueError("conditions: at least one is needed")
        if len(set(self.seeds)) != len(self.seeds) or not self.seeds:
            raise ValueError(f"seeds: {list(self.seeds)} must be distinct and at least one")
        if bool(self.exams.held_out) != bool(self.tasks.held_out):
            raise ValueError(
                f"exams.held_out: {self.exams.held_out} tasks of the kinds {list(self.tasks.held_out)} in "
                "tasks.held_out: give both, or neither"
            )
        if self.dialogue.deterministic and self.engine.kind in ("vllm", "openai"):
            raise ValueError(
                f"dialogue.deterministic: true needs a batch of one, which engine.kind {self.engine.kind!r} cannot "
                "promise. Set engine.kind: transformers"
            )
        check_exams(self)
        for name, condition in self.conditions.items():
            if not name.replace("_", "").replace("-", "").isalnum():
                raise ValueError(f"conditions.{name}: letters, digits, - and _ only, it becomes a folder")
            if (condition.voice == "human") != (self.tasks.source == "mathdial"):
                raise ValueError(f"conditions.{name}.voice: 'human' goes with tasks.source mathdial, and only with it")
            absent = set(condition.specifications or ()).difference(*(tasks.train for tasks in self.tasks.sources))
            if condition.specifications is not None and (absent or not condition.specifications):
                raise ValueError(
                    f"conditions.{name}.specifications: {list(condition.specifications)} must name specifications of "
                    f"tasks.train ({', '.join(self.tasks.train)}), at least one"
                )
            there = {tasks.source for tasks in self.tasks.sources}
            if condition.sources is not None and (set(condition.sources) - there or not condition.sources):
                raise ValueError(
                    f"conditions.{name}.sources: {list(condition.sources)} must name sources of tasks and tasks.second "
                    f"({', '.join(sorted(there))}), at least one"
                )
            counts = {(tasks.source, kind): n for tasks in self.tasks.sources for kind, n in tasks.train.items()}
            for cell, stretch in self.stretches(name).items():
                if stretch.stop > counts[cell]:
                    source, kind = cell
                    where = "tasks" if source == self.tasks.source else "tasks.second"
                    raise ValueError(
                        f"tasks.per_condition: {self.tasks.per_condition} has conditions.{name} play {kind} tasks "
                        f"{stretch.start + 1} to {stretch.stop}, and {where}.train.{kind} is {counts[cell]}. "
                        "Raise this, or lower that"
                    )
            if condition.partition == "facts" and self.tasks.source in ("gsm8k", "stepverify"):
                raise ValueError(
                    f"conditions.{name}.partition: 'facts' has nothing to tell on source {self.tasks.source}, whose "
                    "questions lack nothing. Use source sharded or embedded, or partition verifier, answer, key or "
                    "jigsaw"
                )
            if WHERE in (condition.row.partner or ()) and self.tasks.source != "stepverify":
                raise ValueError(
                    f"conditions.{name}.partition: {condition.partition!r} tells where a first solution is wrong, and "
                    f"tasks of source {self.tasks.source!r} have none. Use source stepverify, or partition verifier"
                )
            if condition.partition == "facts" and self.tasks.source == "code" and self.tasks.path:
                raise ValueError(
                    f"conditions.{name}.partition: 'facts' has nothing to tell on functions of {self.tasks.path!r}, "
                    "whose questions lack nothing. Leave out tasks.path, or use partition verifier, answer or key"
                )
            if condition.weights not in ("base", "current", *self.conditions):
                raise ValueError(
                    f"conditions.{name}.weights: {condition.weights!r} is not base, current or a condition"
                )
            check_method(self, name)
            check_code(self, name)
            if self.training.regime == "matched" and condition.weights in self.conditions.keys() - {name}:
                raise ValueError(
                    f"conditions.{name}.weights: {condition.weights!r} must be trained before {name!r} is "
                    "built, but training.regime: 'matched' needs all datasets before any training"
                )
        known = {"base", *self.conditions}
        for where, contrast in self._contrasts():
            for name in (contrast.a, contrast.b):
                if name not in known:
                    raise ValueError(f"{where}: {name!r} is not a condition. Known: {', '.join(sorted(known))}")
            if contrast.a == contrast.b:
                raise ValueError(f"{where}: {contrast.a!r} is compared with itself, name two conditions")
        return self

    def _contrasts(self) -> list[tuple[str, Contrast]]:
        if self.compare is None:
            return []
        others = [(f"compare.others.{i}", contrast) for i, contrast in enumerate(self.compare.others)]
        return [("compare.primary", self.compare.primary), *others]

    def fingerprint(self) -> str:
        """Of all that shapes the dialogues of every condition; part of every dialogue's id."""
        return digest(
            [weights_id(self.student.model), self.student.system],
            [weights_id(self.partner.model), self.partner.system],
            self.dialogue.model_dump(exclude={"concurrency", "per_task"}),
        )

    def particulars(self, condition_name: str) -> list[Any]:
        """What else shapes the dialogues of one condition, and of no other."""
        condition, found = self.conditions[condition_name], list[Any]()
        if condition.memory != "none":
            found.append([weights_id(self.memory.embedder), self.memory.items])
        if condition.manner == "convincing":
            judge = self.partner.judge or self.student.model
            found.append([weights_id(judge), self.partner.candidates, self.partner.judgements])
        return found


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
    return yaml.safe_dump(experiment.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

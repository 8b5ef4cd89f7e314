"""The dialogues of a run as talks, of which none is held: of each its place in a file, and a hash of its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple, overload

import numpy as np

from pipeline.core.id_set import IdSet, id_hash
from pipeline.core.schema import digest
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import as_read, dialogues_path
from pipeline.runs.store import placed
from pipeline.tasks.talks import Talk


class Stored(NamedTuple):
    """Dialogues of one condition: the places where their lines begin (bytes), and hashes of their ids."""

    places: np.ndarray
    ids: np.ndarray


class RunTalks(Sequence[Talk]):
    """Talks of a run's conditions, in the order of their files; each is read when it is asked for."""

    def __init__(self, experiment: Experiment, stored: Mapping[str, Stored]):
        self.experiment = experiment
        self.stored = {name: own for name, own in stored.items() if len(own.places)}

    def __len__(self) -> int:
        return sum(len(own.places) for own in self.stored.values())

    def __iter__(self) -> Iterator[Talk]:
        for name in self.stored:
            condition = self.experiment.conditions[name]
            yield from (talk_of(dialogue, condition) for dialogue in self.dialogues(name))

    @overload
    def __getitem__(self, i: int) -> Talk: ...
    @overload
    def __getitem__(self, i: slice) -> list[Talk]: ...
    def __getitem__(self, i: int | slice) -> Talk | list[Talk]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        for name, own in self.stored.items():
            if i < len(own.places):
                one = RunTalks(self.experiment, {name: Stored(own.places[i : i + 1], own.ids[i : i + 1])})
                return next(iter(one))
            i -= len(own.places)
        raise AssertionError("the places of its conditions are as many as it is long")

    def dialogues(self, condition_name: str) -> Iterator[Dialogue]:
        """The stored dialogues of one condition."""
        with dialogues_path(self.experiment.run, condition_name).open("rb") as file:
            for place in self.stored[condition_name].places:
                file.seek(place)
                yield Dialogue.model_validate_json(file.readline())

    def conditions(self) -> dict[str, RunTalks]:
        return {name: RunTalks(self.experiment, {name: own}) for name, own in self.stored.items()}

    def among(self, ids: Mapping[str, IdSet]) -> RunTalks:
        """Those of each condition whose ids are among its own."""
        return RunTalks(self.experiment, {name: _among(own, ids[name]) for name, own in self.stored.items()})

    def drawn(self, most: int) -> RunTalks:
        """So many of one condition, drawn by their ids, in the order of the draw."""
        [(name, own)] = self.stored.items()
        ids = (dialogue.id for dialogue in self.dialogues(name))
        first = [i for _, i in nsmallest(most, ((digest(id), i) for i, id in enumerate(ids)))]
        return RunTalks(self.experiment, {name: Stored(own.places[first], own.ids[first])})


def run_talks(experiment: Experiment) -> RunTalks:
    """All own dialogues of a run. Raises StoreError as `own_dialogues` does."""
    return RunTalks(experiment, {name: _stored(experiment, name) for name in experiment.conditions})


def _stored(experiment: Experiment, condition_name: str) -> Stored:
    lines = placed(dialogues_path(experiment.run, condition_name), Dialogue)
    found = ((place, id_hash(dialogue.id)) for place, dialogue in as_read(experiment, lines))
    both = np.fromiter(found, np.dtype([("place", np.int64), ("id", np.uint64)]))
    return Stored(both["place"], both["id"])


def _among(stored: Stored, ids: IdSet) -> Stored:
    """The same arrays where all are: of a million dialogues they take 16 MB."""
    there = ids.have(stored.ids)
    return stored if there.all() else Stored(stored.places[there], stored.ids[there])


def talk_of(dialogue: Dialogue, condition: Condition) -> Talk:
    """A dialogue of a run as the audit reads all talks."""
    task = dialogue.task
    return Talk(
        id=dialogue.id,
        split=task.split,
        condition_name=dialogue.condition_name,
        question=task.question,
        answer=task.answer,
        solution=task.solution,
        earlier=str(dialogue.meta.get("student_incorrect_solution", "")),
        specification=task.specification,
        turns=dialogue.turns,
        partition=condition.partition,
        disclosure=condition.disclosure,
        meta={
            "full_question": task.full_question,
            "seed": dialogue.seed,
            "round": dialogue.round,
            "stop": dialogue.stop,
        },
    )

"""All dialogues that a condition learns from: its own, and those in which its ledger played on from a turn.

Methods of learning are compared on one pool: a condition that `learns_from` another has that one's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from pipeline.core.schema import Party
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.runs.store import placed, read


class Place(NamedTuple):
    """Where a dialogue stands: the line of a file that begins at `offset` (bytes), the dialogue's own or a branch's."""

    offset: int
    sibling: int = -1  # of a branch of the ledger
    rollout: int = 0


class Pool:
    """A condition's dialogues, or those at some `places`, read anew whenever they are gone through."""

    def __init__(self, experiment: Experiment, condition_name: str, places: Sequence[Place] | None = None):
        source = experiment.conditions[condition_name].learns_from or condition_name
        self.own = experiment.run / "dialogues" / f"{source}.jsonl"
        self.ledger = ledger_path(experiment.run, source)
        self.places = places

    def __len__(self) -> int:
        return sum(1 for _ in self) if self.places is None else len(self.places)

    def __iter__(self) -> Iterator[Dialogue]:
        if self.places is None:
            yield from (dialogue for _, dialogue in self.placed())
            return
        with ExitStack() as stack:
            own, ledger = (
                stack.enter_context(path.open("rb")) if path.exists() else None for path in (self.own, self.ledger)
            )
            for place in self.places:
                file = own if place.sibling < 0 else ledger
                assert file is not None  # the place was read from it
                file.seek(place.offset)
                if place.sibling < 0:
                    yield Dialogue.model_validate_json(file.readline())
                else:
                    yield Branch.model_validate_json(file.readline()).dialogues(place.sibling)[place.rollout]

    def __contains__(self, dialogue: object) -> bool:
        return any(dialogue == mine for mine in self)

    def placed(self) -> Iterator[tuple[Place, Dialogue]]:
        """All dialogues, each with its place."""
        for offset, dialogue in placed(self.own, Dialogue):
            yield Place(offset), dialogue
        for offset, branch in placed(self.ledger, Branch):
            for i in range(len(branch.siblings)):
                for j, dialogue in enumerate(branch.dialogues(i)):
                    yield Place(offset, i, j), dialogue


def ledger_path(run: Path, condition_name: str) -> Path:
    return run / "ledger" / f"{condition_name}.jsonl"


def reference(experiment: Experiment, condition_name: str) -> str | None:
    """The condition whose dialogues one with the same partner is held against: its own, or the first of them."""
    condition = experiment.conditions
    for other in (condition[condition_name].learns_from or condition_name, *condition):
        own = not condition[other].learns_from and condition[other].method not in (*ONLINE, "q_priming")
        if own and not condition[condition_name].differs(condition[other]):
            return other
    return None


class Spent(NamedTuple):
    """Tokens that models sampled for one seed's pool, and that a dialogue takes: in its first turn, and later."""

    tokens: int
    first: float
    later: float


def spent(cell: Cell) -> Spent | None:
    """Of the cell's seed in the pool of `reference`; None where that is not built."""
    experiment, seed = cell.experiment, cell.seed
    source = reference(experiment, cell.condition_name)
    if source is None:
        return None
    pool, spoken = Pool(experiment, source), experiment.conditions[source].voice == "model"
    parties: tuple[Party, ...] = ("student", "partner") if spoken else ("student",)
    count = first = whole = of_ledger = 0
    for dialogue in read(pool.own, Dialogue):
        if dialogue.seed == seed:
            count, first = count + 1, first + dialogue.turns[0].tokens
            whole += sum(map(dialogue.tokens, parties))
    for branch in read(pool.ledger, Branch):
        if branch.seed == seed:
            of_ledger += sum(map(branch.tokens, parties))
    return Spent(whole + of_ledger, first / count, (whole - first) / count) if count else None

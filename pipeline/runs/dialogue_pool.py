"""All dialogues that a condition learns from: its own, and those in which a turn of them was played on.

Methods of learning are compared on one pool: a condition that `learns_from` another has that one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
    sibling: int = -1  # of a branch
    rollout: int = 0


class Pool:
    """A condition's dialogues, read anew whenever they are gone through."""

    def __init__(self, experiment: Experiment, condition_name: str):
        source = experiment.conditions[condition_name].learns_from or condition_name
        self.own = dialogues_path(experiment.run, source)
        self.branches = branches_path(experiment.run, source)

    def __iter__(self) -> Iterator[Dialogue]:
        yield from (dialogue for _, dialogue in self.placed())

    def placed(self) -> Iterator[tuple[Place, Dialogue]]:
        """All dialogues, each with its place."""
        for offset, dialogue in placed(self.own, Dialogue):
            yield Place(offset), dialogue
        for offset, branch in placed(self.branches, Branch):
            for i in range(len(branch.siblings)):
                for j, dialogue in enumerate(branch.dialogues(i)):
                    yield Place(offset, i, j), dialogue

    @contextmanager
    def opened(self) -> Iterator[Callable[[Place], Dialogue]]:
        """What reads the dialogue at a place, in whatever order, from files that are opened once."""
        with ExitStack() as stack:
            own, branches = (
                stack.enter_context(path.open("rb")) if path.exists() else None for path in (self.own, self.branches)
            )

            def at(place: Place) -> Dialogue:
                file = own if place.sibling < 0 else branches
                assert file is not None  # the place was read from it
                file.seek(place.offset)
                if place.sibling < 0:
                    return Dialogue.model_validate_json(file.readline())
                return Branch.model_validate_json(file.readline()).dialogues(place.sibling)[place.rollout]

            yield at


def dialogues_path(run: Path, condition_name: str) -> Path:
    """Of a run, or of a shard of it."""
    return run / "dialogues" / f"{condition_name}.jsonl"


def dialogues_of(cell: Cell) -> Iterator[Dialogue]:
    """The stored dialogues of one cell."""
    return filter(cell.holds, read(dialogues_path(cell.experiment.run, cell.condition_name), Dialogue))


def branches_path(run: Path, condition_name: str) -> Path:
    """Where a condition's branches of dialogues, for turn values, are stored."""
    return run / "branches" / f"{condition_name}.jsonl"


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
    count = first = whole = of_branches = 0
    for dialogue in read(pool.own, Dialogue):
        if dialogue.seed == seed:
            count, first = count + 1, first + dialogue.turns[0].tokens
            whole += sum(map(dialogue.tokens, parties))
    for branch in read(pool.branches, Branch):
        if branch.seed == seed:
            of_branches += sum(map(branch.tokens, parties))
    return Spent(whole + of_branches, first / count, (whole - first) / count) if count else None

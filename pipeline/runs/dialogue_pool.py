"""All dialogues that a condition learns from: its own, and those in which a turn of them was played on.

Methods of learning are compared on one pool: a condition that `learns_from` another has that one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from pipeline.core.schema import Party, Turn
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import ONLINE
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.runs.store import StoreError, placed, read

Talk = TypeVar("Talk", Dialogue, Branch)


class Place(NamedTuple):
    """Where a dialogue stands: the line of a file that begins at `offset` (bytes), the dialogue's own or a branch's."""

    offset: int
    sibling: int = -1  # of a branch
    rollout: int = 0


class Pool:
    """A condition's dialogues, read anew whenever they are gone through."""

    def __init__(self, experiment: Experiment, condition_name: str):
        source = experiment.conditions[condition_name].learns_from or condition_name
        self.experiment = experiment
        self.own = dialogues_path(experiment.run, source)
        self.branches = branches_path(experiment.run, source)

    def __iter__(self) -> Iterator[Dialogue]:
        yield from (dialogue for _, dialogue in self.placed())

    def placed(self) -> Iterator[tuple[Place, Dialogue]]:
        """All dialogues, each with its place. Raises StoreError as `as_read` does."""
        for offset, dialogue in as_read(self.experiment, placed(self.own, Dialogue)):
            yield Place(offset), dialogue
        for offset, branch in as_read(self.experiment, placed(self.branches, Branch)):
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


def own_dialogues(experiment: Experiment, condition_name: str) -> Iterator[Dialogue]:
    """A condition's own dialogues; none where it learns from another's, or plays while it learns."""
    stored = placed(dialogues_path(experiment.run, condition_name), Dialogue)
    return (dialogue for _, dialogue in as_read(experiment, stored))


def dialogues_of(cell: Cell) -> Iterator[Dialogue]:
    """The stored dialogues of one cell."""
    return filter(cell.holds, own_dialogues(cell.experiment, cell.condition_name))


def branches_of(experiment: Experiment, condition_name: str) -> Iterator[Branch]:
    """The stored branches of a condition's own dialogues."""
    return (branch for _, branch in as_read(experiment, placed(branches_path(experiment.run, condition_name), Branch)))


def as_read(experiment: Experiment, stored: Iterable[tuple[int, Talk]]) -> Iterator[tuple[int, Talk]]:
    """The same, where each turn has been read by the config's readers. Raises StoreError with the one that was not.

    The closed readers' readings are not stored (pipeline/reading/stored.py): they are of the embedded world's language
    alone, and no turn of another is left to them.
    """
    readers = experiment.readers
    for offset, talk in stored:
        if reader := _not_asked(readers, talk):
            kind = "dialogues" if isinstance(talk, Dialogue) else "branches"
            raise StoreError(
                f"{experiment.run}/{kind}/{talk.condition_name}.jsonl: {talk.id!r} has turns that were stored without "
                f"a reading. The config's {reader!r} reads each turn when it is stored, and the closed reader knows no "
                "such text. Move the file away: `maieutic build` makes its records again, and reads them"
            )
        yield offset, talk


def _not_asked(readers: tuple[str, str], talk: Dialogue | Branch) -> str:
    """Which of the config's two readers has left a turn unread; '' where neither has."""
    (hears, reads), turns = readers, _turns(talk)
    if reads != "closed" and any(turn.reading is None for turn in turns):
        return reads
    spoken = talk.condition.voice != "human" and not talk.condition.row.one_writer  # else no partner hears
    if hears != "closed" and spoken and any(turn.party == "student" and turn.heard is None for turn in turns):
        return hears
    return ""


def _turns(talk: Dialogue | Branch) -> tuple[Turn, ...]:
    """All that are stored with it."""
    if isinstance(talk, Dialogue):
        return talk.turns
    later = (turn for sibling in talk.siblings for rollout in sibling.rollouts for turn in rollout.turns)
    return (*talk.prefix, *(sibling.turn for sibling in talk.siblings), *later)


def branches_path(run: Path, condition_name: str) -> Path:
    """Where a condition's branches of dialogues, for turn values, are stored."""
    return run / "branches" / f"{condition_name}.jsonl"


def memories_path(run: Path, condition_name: str) -> Path:
    """Where what a condition's dialogues leave to be remembered is stored."""
    return run / "memory" / f"{condition_name}.jsonl"


def reference(experiment: Experiment, condition_name: str) -> str | None:
    """The condition whose dialogues one with the same partner is held against: its own, or the first of them. Who
    plays to learn plays under its own prompt, whatever prompt the pool was sampled under."""
    condition = experiment.conditions
    alike = {"sampling_prompt"} if condition[condition_name].method in ONLINE else set[str]()
    for other in (condition[condition_name].learns_from or condition_name, *condition):
        own = condition[other].has_dialogues and condition[other].method != "q_priming"
        if own and alike.issuperset(condition[condition_name].differs(condition[other])):
            return other
    return None


class Spent(NamedTuple):
    """Tokens that models sampled for one seed's pool, and that a dialogue of it takes: in its first turn, and later."""

    tokens: int
    first: float
    later: float


def spent(cell: Cell) -> Spent | None:
    """Of the cell's seed in the pool of `reference`, on tasks within its budget; None where that is not built."""
    experiment, seed = cell.experiment, cell.seed
    source = reference(experiment, cell.condition_name)
    if source is None:
        return None
    pool, spoken = Pool(experiment, source), experiment.conditions[source].voice == "model"
    parties: tuple[Party, ...] = ("student", "partner") if spoken else ("student",)
    affords = cell.condition.affords
    count = first = whole = of_branches = 0
    for dialogue in read(pool.own, Dialogue):
        if dialogue.seed == seed and affords(dialogue.task.id):
            count, first = count + 1, first + dialogue.turns[0].tokens
            whole += sum(map(dialogue.tokens, parties))
    for branch in read(pool.branches, Branch):
        if branch.seed == seed and affords(branch.task.id):
            of_branches += sum(map(branch.tokens, parties))
    return Spent(whole + of_branches, first / count, (whole - first) / count) if count else None

"""What is stored of a talk: dialogues, branches of a dialogue, memories, and failures.

A dialogue carries its task and its condition, so a row of `dialogues/*.jsonl` can be read, audited and trained on
without other files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, ValidatorFunctionWrapHandler, WrapValidator

from pipeline.core.schema import Belief, Party, Record, Task, Turn
from pipeline.knowledge.condition import Condition

_MOST = 64  # conditions that are kept
_CONDITIONS: dict[str, Condition] = {}


def _read_once(stored: Any, read: ValidatorFunctionWrapHandler) -> Condition:
    """A run has few conditions, and every line names its own in whole: to check it took a third of a line's time."""
    if not isinstance(stored, dict):
        return read(stored)
    text = repr(stored)
    condition = _CONDITIONS.get(text)
    if condition is None:
        if len(_CONDITIONS) >= _MOST:
            _CONDITIONS.clear()
        condition = _CONDITIONS[text] = read(stored)
    return condition


# Stored without how the student learns from it, so that conditions that share dialogues store the same.
Stored = Annotated[Condition, PlainSerializer(Condition.shaping), WrapValidator(_read_once)]
Stop = Literal["student_done", "partner_done", "turn_cap", "imported"]


FailureKind = Literal[
    "bad_task", "context_overflow", "engine_error", "empty_turn", "only_reasoning", "unparsed_script",
    "no_wrong_answer", "not_read",
]  # fmt: skip


class Dialogue(Record):
    """One whole episode. `id` is a hash of task, condition, seed, round and config."""

    id: str
    task: Task
    condition_name: str
    condition: Stored
    seed: int
    round: int = 0
    sample: int = 0
    turns: tuple[Turn, ...]
    stop: Stop
    before: dict[Party, Belief] = {}
    after: dict[Party, Belief] = {}
    meta: dict[str, Any] = {}

    def tokens(self, party: Party) -> int:
        return sum(turn.tokens for turn in self.turns if turn.party == party)


class Memory(Record):
    """What is kept of a dialogue, whose id it has, for the student to remember in other tasks."""

    id: str
    question: str
    problem: str  # the hash of the full question, equal for all specifications of a problem
    seed: int
    round: int
    right: bool
    transcript: str
    lesson: str = ""  # of one that did not end right
    tokens: int = 0  # generated for the lesson


class Rollout(Record):
    """How a dialogue went on after a sibling."""

    turns: tuple[Turn, ...]
    stop: Stop


class Sibling(Record):
    """One of the turns that the student might have said, and how its continuations ended."""

    turn: Turn
    rollouts: tuple[Rollout, ...]


class Branch(Record):
    """The siblings of one student turn. `dialogue` is the id of the dialogue that `prefix` is the beginning of."""

    id: str
    dialogue: str
    task: Task
    condition_name: str
    condition: Stored
    seed: int
    round: int
    prefix: tuple[Turn, ...]
    siblings: tuple[Sibling, ...]

    @property
    def at(self) -> int:
        """Which student turn this is; 0 is the first."""
        return len(self.prefix) // 2

    def dialogues(self, sibling: int) -> list[Dialogue]:
        """The whole dialogues that go through one sibling."""
        chosen = self.siblings[sibling]
        return [
            Dialogue(
                id=f"{self.id}-{sibling}-{i}",
                task=self.task,
                condition_name=self.condition_name,
                condition=self.condition,
                seed=self.seed,
                round=self.round,
                turns=(*self.prefix, chosen.turn, *rollout.turns),
                stop=rollout.stop,
            )
            for i, rollout in enumerate(chosen.rollouts)
        ]

    def tokens(self, party: Party) -> int:
        """Sampled for this branch: siblings and rollouts, not the prefix."""
        later = [turn for sibling in self.siblings for rollout in sibling.rollouts for turn in rollout.turns]
        return sum(t.tokens for t in [*later, *(sibling.turn for sibling in self.siblings)] if t.party == party)


class Failure(Record):
    """A task of a condition that did not become a dialogue, and why."""

    id: str
    task_id: str
    condition_name: str
    seed: int
    round: int = 0
    kind: FailureKind
    message: str

"""The value of a student turn under a partition: its Monte Carlo return, by playing the dialogue on from it.

At a student turn of a stored dialogue, k siblings of that turn are sampled from the same prefix, and the
dialogue is played on from each of them m times with the same partner (forward sampling: CollabLLM, Wu et al.
2025, section 3; siblings after Coral, Ni et al. 2025). A sibling's value is the share of its rollouts that end
right, less a price per token, at most 1 a rollout (equation 4 there; it counts what the user says, too), and one per
question, which is ours; under `selection: agreement` the share in which both parties end on
one answer, right or wrong, so that no oracle is asked. The same task has the same siblings at its first turn under
every condition, so that values differ only by what follows.

A branch is stored whole or not at all, one line of branches/<condition>.jsonl, and resumes like a build.

    maieutic build configs/methods.yaml
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from pipeline.building.failures import TYPED, failure_of, forget_engine_errors, standing_failures
from pipeline.building.make_missing import Counts, make_missing
from pipeline.core.id_set import IdSet
from pipeline.core.random_streams import stream
from pipeline.core.schema import digest
from pipeline.dialogue.episode import Cast, Episode, speak
from pipeline.dialogue.turn_taking import heard, play
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import TurnValues
from pipeline.judging.outcome import agrees, is_correct
from pipeline.knowledge.condition import Selection
from pipeline.knowledge.records import Branch, Dialogue, Failure, Rollout, Sibling
from pipeline.reading.stored import is_right, student_reading
from pipeline.runs.dialogue_pool import branches_path, dialogues_of
from pipeline.runs.store import read_ids
from pipeline.sandbox.checks import checked

T = TypeVar("T")


class TurnValue(NamedTuple):
    """Of one sibling. `value` is the mean over rollouts of success - min(1, token_price * tokens) - question_price *
    questions."""

    value: float
    success: float  # share of rollouts that end right, or in agreement
    tokens: float  # of the student from this turn on, mean over rollouts
    questions: float  # things that the student asks for from this turn on, mean over rollouts


def turn_value(branch: Branch, sibling: int, prices: TurnValues, selection: Selection = "outcome") -> TurnValue:
    """The value of one sibling of a branch, a mean over its rollouts. `selection` is that of the condition that learns:
    with `agreement` it says what a success is, and else nothing."""
    dialogues = branch.dialogues(sibling)
    later = [[i for i, t in enumerate(d.turns) if i >= len(branch.prefix) and t.party == "student"] for d in dialogues]
    own = list(zip(dialogues, later, strict=True))
    success = fmean(map(agrees if selection == "agreement" else is_correct, dialogues))
    tokens = [sum(dialogue.turns[i].tokens for i in turns) for dialogue, turns in own]
    asked = fmean(sum(student_reading(branch.task, d.turns, i).requests for i in turns) for d, turns in own)
    paid = fmean(min(1.0, prices.token_price * each) for each in tokens)
    return TurnValue(success - paid - prices.question_price * asked, success, fmean(tokens), asked)


def answer_value(branch: Branch, sibling: int) -> float:
    """1 where the turn itself commits to the right answer, else 0: credit that sees no further than the turn."""
    turns = [*branch.prefix, branch.siblings[sibling].turn]
    return float(bool(is_right(branch.task, turns, len(branch.prefix))))


def has_turn_values(experiment: Experiment, condition_name: str) -> bool:
    """Whether a condition's dialogues can be played on from their middle, and the config asks for it."""
    condition = experiment.conditions[condition_name]
    spoken = condition.voice != "human" and not condition.row.one_writer
    return experiment.turn_values.siblings > 0 and spoken and condition.method != "q_priming"


class PlannedBranch(NamedTuple):
    """One branch to be made: of the student's turn number `at` of a stored dialogue, 0 is its first."""

    id: str
    dialogue: Dialogue
    at: int


def planned_branches(cell: Cell) -> Iterator[PlannedBranch]:
    """Every branch that a cell asks for, in the order of its dialogues."""
    return branches_due(dialogues_of(cell), cell.experiment.turn_values)


def branches_due(dialogues: Iterable[Dialogue], settings: TurnValues) -> Iterator[PlannedBranch]:
    """Every branch of these dialogues that is asked for."""
    for dialogue in dialogues:
        for at in settings.at:
            # Ids and streams keep the word "ledger", by which they were first hashed.
            if at < (len(dialogue.turns) + 1) // 2:
                id = digest(dialogue.id, "ledger", at, settings.siblings, settings.rollouts)
                yield PlannedBranch(id, dialogue, at)


def ended_branches(experiment: Experiment, condition_name: str) -> IdSet:
    """Ids that need no more work: of the branches, and of the failures but those of the engine."""
    records = branches_path(experiment.run, condition_name)
    return IdSet(chain(read_ids(records, Branch), standing_failures(records.parent)))


def missing_branches(cell: Cell) -> int:
    """How many branches of a cell's stored dialogues are still to be made."""
    ended = ended_branches(cell.experiment, cell.condition_name)
    return sum(plan.id not in ended for plan in planned_branches(cell))


async def play_branches(cell: Cell, cast: Cast | None, tick: Callable[[], None]) -> Counts:
    """Make what is missing of one cell's branches; `tick` is called at each one's end. `cast` may be None where nothing
    is missing. Raises Stopped."""
    settings, records = cell.experiment.turn_values, branches_path(cell.experiment.run, cell.condition_name)
    failures = records.with_name("failures.jsonl")
    forget_engine_errors(failures.parent, cell)
    return await make_missing(
        planned_branches(cell),
        ended_branches(cell.experiment, cell.condition_name),
        partial(_play_branch, cell, cast),
        records=records,
        failures=failures,
        failure=Failure,
        at_a_time=max(1, cell.experiment.dialogue.at_a_time // (settings.siblings * settings.rollouts)),
        tick=tick,
        what=f"branches of {cell}",
    )


async def _play_branch(cell: Cell, cast: Cast | None, plan: PlannedBranch) -> Branch | Failure:
    assert cast is not None, f"{plan.id} is missing, and nobody is there to play it"
    experiment, dialogue, task = cell.experiment, plan.dialogue, plan.dialogue.task
    prefix = dialogue.turns[: 2 * plan.at]
    key = digest(task.id, dialogue.seed, dialogue.round, dialogue.sample, experiment.fingerprint(), "ledger", plan.at)
    episode = Episode(
        task=task,
        condition=cell.condition,
        cast=cast,
        settings=experiment.dialogue.model_copy(update={"beliefs": 0}),
        key=key,
    )
    seen = episode.seen_by("student", prefix)

    async def sibling(i: int) -> Sibling:
        turn = await checked(task, await speak(cast.student, seen, "student", episode.settings, stream(key, i)))
        begun = (*prefix, await heard(episode, [*prefix, turn]))
        ends = await _all(
            play(replace(episode, key=digest(key, i, j)), begun) for j in range(experiment.turn_values.rollouts)
        )
        rollouts = [Rollout(turns=end.turns[len(begun) :], stop=end.stop) for end in ends]
        return Sibling(turn=ends[0].turns[len(prefix)], rollouts=tuple(rollouts))  # the turn, as it was read

    try:
        siblings = await _all(map(sibling, range(experiment.turn_values.siblings)))
    except TYPED as error:
        return failure_of(cell, plan.id, task.id, error)
    return Branch(
        id=plan.id,
        dialogue=dialogue.id,
        task=task,
        condition_name=cell.condition_name,
        condition=dialogue.condition,
        seed=cell.seed,
        round=cell.round,
        prefix=prefix,
        siblings=tuple(siblings),
    )


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, when all have ended. Raises the first error, if there was one."""
    results = await asyncio.gather(*work, return_exceptions=True)
    ended: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        ended.append(result)
    return ended

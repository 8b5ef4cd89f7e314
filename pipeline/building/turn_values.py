"""The turn-value ledger: what a student turn is worth under a partition, by playing on from it.

At a student turn of a stored dialogue, k siblings of that turn are sampled from the same prefix, and the
dialogue is played on from each of them m times with the same partner (forward sampling: CollabLLM, Wu et al.
2025, section 3; siblings after Coral, Wu et al. 2025). A sibling is worth the share of its rollouts that end
right, less a price per token and per question. The same task has the same siblings at its first turn under
every condition, so that values differ only by what follows.

A branch is stored whole or not at all, one line of ledger/<condition>.jsonl, and resumes like a build.

    maieutic build configs/methods.yaml
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from pipeline.building.build import FAILURES, Counts, forget_engine_errors
from pipeline.building.concurrency import Stopped, admit
from pipeline.core.schema import digest
from pipeline.dialogue.episode import Cast, play, speak, stream
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import Ledger
from pipeline.judging.outcome import is_correct
from pipeline.knowledge.records import Branch, Dialogue, Failure, Rollout, Sibling
from pipeline.knowledge.view import view
from pipeline.reading.acts import questions
from pipeline.reading.correctness import is_right
from pipeline.runs.pool import ledger_path
from pipeline.runs.store import Appender, read
from pipeline.sandbox.checks import checked

T = TypeVar("T")


class Worth(NamedTuple):
    """What one sibling is worth. `value` = `success` - token_price * `tokens` - question_price * `questions`."""

    value: float
    success: float  # share of rollouts that end right
    tokens: float  # of the student from this turn on, mean over rollouts
    questions: float  # in the student's turns from this one on, mean over rollouts


def worth(branch: Branch, sibling: int, prices: Ledger) -> Worth:
    """The worth of one sibling of a branch."""
    dialogues = branch.dialogues(sibling)
    own = [[t for t in d.turns[len(branch.prefix) :] if t.party == "student"] for d in dialogues]
    success = fmean(map(is_correct, dialogues))
    tokens = fmean(sum(turn.tokens for turn in turns) for turns in own)
    asked = fmean(sum(len(questions(turn.text)) for turn in turns) for turns in own)
    return Worth(success - prices.token_price * tokens - prices.question_price * asked, success, tokens, asked)


def answer_worth(branch: Branch, sibling: int) -> float:
    """1 where the turn itself commits to the right answer, else 0: credit that sees no further than the turn."""
    return float(bool(is_right(branch.task, branch.siblings[sibling].turn)))


def has_ledger(experiment: Experiment, condition_name: str) -> bool:
    """Whether a condition's dialogues can be played on from their middle, and the config asks for it."""
    condition = experiment.conditions[condition_name]
    spoken = condition.voice != "human" and condition.partition != "script"
    return experiment.ledger.siblings > 0 and spoken and condition.method != "q_priming"


def wanted(experiment: Experiment, condition_name: str, seed: int, round: int) -> Iterator[tuple[str, Dialogue, int]]:
    """Id, dialogue and student turn of every branch that a cell asks for, in the order of its dialogues."""
    settings = experiment.ledger
    for dialogue in read(experiment.run / "dialogues" / f"{condition_name}.jsonl", Dialogue):
        if (dialogue.seed, dialogue.round) == (seed, round):
            for at in settings.at:
                if at < (len(dialogue.turns) + 1) // 2:
                    name = digest(dialogue.id, "ledger", at, settings.siblings, settings.rollouts)
                    yield name, dialogue, at


async def branch_out(
    experiment: Experiment, condition_name: str, seed: int, round: int, cast: Cast, tick: Callable[[], None]
) -> Counts:
    """Make what is missing of one cell's ledger; `tick` is called at each branch's end. Raises Stopped."""
    folder, made, failed, skipped = experiment.run / "ledger", 0, 0, 0
    forget_engine_errors(folder, condition_name, seed, round)
    ended = {branch.id for branch in read(ledger_path(experiment.run, condition_name), Branch)}
    ended |= {failure.id for failure in read(folder / "failures.jsonl", Failure)}

    def missing() -> Iterator[tuple[str, Dialogue, int]]:
        nonlocal skipped
        for piece in wanted(experiment, condition_name, seed, round):
            if piece[0] in ended:
                skipped += 1
            else:
                yield piece

    with (
        Appender(ledger_path(experiment.run, condition_name)) as branches,
        Appender(folder / "failures.jsonl") as failures,
    ):

        async def work(piece: tuple[str, Dialogue, int]) -> None:
            nonlocal made, failed
            record = await _branch(experiment, cast, *piece)
            if isinstance(record, Branch):
                branches.append(record)
                made += 1
            else:
                failures.append(record)
                failed += 1
            tick()

        settings, most = experiment.ledger, experiment.dialogue.concurrency
        at_a_time = 1 if experiment.dialogue.deterministic else max(1, most // (settings.siblings * settings.rollouts))
        if await admit(missing(), work, at_a_time):
            raise Stopped(f"after {made + failed} more branches of {condition_name!r}, seed {seed}")
    return Counts(made, failed, skipped)


async def _branch(experiment: Experiment, cast: Cast, name: str, dialogue: Dialogue, at: int) -> Branch | Failure:
    task, condition, prefix = dialogue.task, experiment.conditions[dialogue.condition_name], dialogue.turns[: 2 * at]
    settings = experiment.dialogue.model_copy(update={"beliefs": 0})
    messages = view(task, condition, prefix, "student", cast.student_system)
    key = digest(task.id, dialogue.seed, dialogue.round, dialogue.sample, experiment.fingerprint(), "ledger", at)

    async def sibling(i: int) -> Sibling:
        turn = await checked(task, await speak(cast.student, messages, "student", settings, stream(key, i)))
        begun = (*prefix, turn)
        played = await _all(
            play(task, condition, cast, settings, digest(key, i, j), begun=begun)
            for j in range(experiment.ledger.rollouts)
        )
        return Sibling(
            turn=turn, rollouts=tuple(Rollout(turns=one.turns[len(begun) :], stop=one.stop) for one in played)
        )

    common = {"id": name, "condition_name": dialogue.condition_name, "seed": dialogue.seed, "round": dialogue.round}
    try:
        siblings = await _all(map(sibling, range(experiment.ledger.siblings)))
    except tuple(FAILURES) as error:
        return Failure(task_id=task.id, kind=FAILURES[type(error)], message=str(error), **common)
    return Branch(
        dialogue=dialogue.id,
        task=task,
        condition=dialogue.condition,
        prefix=prefix,
        siblings=tuple(siblings),
        **common,
    )


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, when all have ended. Raises the first error, if there was one."""
    results = await asyncio.gather(*work, return_exceptions=True)
    found: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found

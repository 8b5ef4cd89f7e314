"""What a student that learns while it plays is rewarded for (Shao et al. 2024, GRPO: each in a group of one task).

grpo        a group of whole dialogues of a task; a right final answer is rewarded with 1, discounted for every
            student turn before it was first given and kept (the conversation-level reward of online Social
            Meta-Learning)
grpo_turn   a group of first turns of a task; each is rewarded with its value, by playing on from it
            (the multiturn-aware reward of CollabLLM, Wu et al. 2025, section 3)
grpo_next   its control, the same group; a turn is rewarded where it commits to the right answer itself
grpo_step   a group of turns after the first steps of an expert's solution; each is rewarded by how like the
            expert's next step it is, -1 where there is no whole turn (Supervised Reinforcement Learning, Deng et al.,
            arXiv 2510.25992, section 3). The paper's student thinks before its step, and groups that are left out
            are sampled anew; here a turn is the step, and the batch is smaller by what is left out

Where the student's own turn comes to nothing, that is rewarded as the least. A partner's that does is no doing of the
student's: such a dialogue is no sample, has its group's mean and teaches nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import partial
from statistics import fmean
from typing import NamedTuple

from pipeline.building.turn_values import answer_value, turn_value
from pipeline.core.random_streams import stream
from pipeline.core.schema import Party, Task, Turn, digest
from pipeline.dialogue.episode import EmptyTurn, Episode
from pipeline.dialogue.expert import expert_turns
from pipeline.dialogue.turn_taking import play
from pipeline.engines.model import ContextOverflow, EngineError
from pipeline.experiment.cell import Cell
from pipeline.judging.outcome import rights
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.reading.protocol import NotRead
from training.online.partners import Partners
from training.online.session import IdEngine, Session

NO_SPREAD = 1e-6  # of rewards that are alike


class Sample(NamedTuple):
    """One member of a group."""

    session: Session  # that learns
    reward: float | None  # None: the partner failed, and nothing is known of what the student did
    sampled: int  # tokens of the student, in playing on too


async def sample(cell: Cell, partners: Partners, engine: IdEngine, task: Task, key: str, steps_done: int = 0) -> Sample:
    """Play what the method compares, and reward it; from after so many of the expert's steps. Raises EngineError."""
    learns = cell.experiment.student.thinking == "keep"
    session, method, turns = Session(engine, learns), cell.condition.method, cell.experiment.dialogue.turns
    if method == "grpo_step":
        begun = expert_turns(task, steps_done)
        step = await _play(cell, partners, session, task, key, steps_done + 1, begun)
        reward = None if step == "partner" else step_reward(step, task.steps[steps_done].text)
        return Sample(session, reward, session.sampled)
    branch = await _play(cell, partners, session, task, key, turns if method == "grpo" else 1)
    prices = cell.experiment.turn_values_of(cell.condition)
    nothing = _least(cell, task) if method == "grpo_turn" else 0.0
    if isinstance(branch, str):
        return Sample(session, nothing if branch == "student" else None, session.sampled)
    if method == "grpo":
        discount = cell.condition.discount or cell.experiment.training.grpo.discount
        reward = discounted(branch.dialogues(0)[0], discount)
        return Sample(session, reward, session.sampled)
    if method == "grpo_next":
        return Sample(session, answer_value(branch, 0), session.sampled)
    turn = branch.siblings[0].turn
    others = [Session(engine, learns) for _ in range(prices.rollouts)]
    ends = await asyncio.gather(
        *(_play(cell, partners, other, task, digest(key, j), turns, [turn]) for j, other in enumerate(others))
    )
    value_of = partial(turn_value, sibling=0, prices=prices, selection=cell.condition.selection)
    values = [nothing if isinstance(end, str) else value_of(end).value for end in ends if end != "partner"]
    return Sample(session, fmean(values) if values else None, sum(each.sampled for each in (session, *others)))


def _least(cell: Cell, task: Task) -> float:
    """What the dearest dialogue without success would be worth, in which each turn asks for all that can be asked
    for: who says nothing saves nothing by it."""
    prices, experiment = cell.experiment.turn_values_of(cell.condition), cell.experiment
    # Requests of one turn, as StudentReading counts them: each fact, in general, the question anew, anything else.
    questions = prices.question_price * (len(task.facts) + 3)
    turns = experiment.dialogue.turns
    return -min(1.0, turns * prices.token_price * experiment.answer_tokens("student")) - turns * questions


async def _play(
    cell: Cell, partners: Partners, session: Session, task: Task, key: str, turns: int, begun: Sequence[Turn] = ()
) -> Branch | Party:
    """One dialogue, as a branch with one rollout; or whose turn was empty, did not fit the context (the judge's is the
    partner's) or could not be read. Raises EngineError."""
    settings = cell.experiment.dialogue.model_copy(update={"beliefs": 0, "turns": turns})
    try:
        played = await play(
            Episode(task=task, condition=cell.condition, cast=partners.cast(session), settings=settings, key=key), begun
        )
    except (EmptyTurn, ContextOverflow):
        return "student" if session.failed else "partner"
    except NotRead as error:
        if error.engine:
            raise EngineError(str(error)) from error
        return error.party
    first, *later = played.turns[len(begun) - len(begun) % 2 :]
    return Branch(
        id=key,
        dialogue=key,
        task=task,
        condition_name=cell.condition_name,
        condition=cell.condition.shaped(),
        seed=cell.seed,
        round=0,
        prefix=(),
        siblings=(Sibling(turn=first, rollouts=(Rollout(turns=tuple(later), stop=played.stop),)),),
    )


def discounted(dialogue: Dialogue, discount: float) -> float:
    """discount ** (student turns before the right answer that it never leaves again), 0 where it ends with none: to say
    it once more costs nothing, to ask first does."""
    own = [right for turn, right in zip(dialogue.turns, rights(dialogue), strict=True) if turn.party == "student"]
    since = 1 + max((i for i, right in enumerate(own) if right is False), default=-1)
    return discount ** own.index(True, since) if True in own[since:] else 0.0


def step_reward(played: Branch | Party, step: str) -> float:
    """The likeness of the turn that was played to the expert's step; -1 where it is empty or was cut at its cap."""
    turn = None if isinstance(played, str) else played.siblings[0].turn
    return likeness(turn.text, step) if turn and turn.finished else -1.0


def by_lot(rewards: Sequence[float | None], group: int, key: str) -> list[float | None]:
    """Each group's rewards dealt anew among its members: a yoked control (Church 1964), in which nothing that a member
    says decides its own. Its own is as likely as any other: without that the group's mean, which holds it, would
    reward the opposite. None, of a partner's failure, stays where it is."""
    lots, dealt = random.Random(stream(key)), list[float | None]()
    for i in range(0, len(rewards), group):
        known = [reward for reward in rewards[i : i + group] if reward is not None]
        lot = iter(lots.sample(known, len(known)))
        dealt += [None if reward is None else next(lot) for reward in rewards[i : i + group]]
    return dealt


def comparable(rewards: Sequence[float | None], group: int) -> list[float | None]:
    """The rewards as they are, of which TRL compares those that there are. Of a group with fewer than two all are
    alike, so that nothing is compared: its one reward, or 0."""
    out = list[float | None]()
    for i in range(0, len(rewards), group):
        known = [reward for reward in rewards[i : i + group] if reward is not None]
        out += rewards[i : i + group] if len(known) > 1 else [known[0] if known else 0.0] * group
    return out


def without_spread(rewards: Sequence[float | None], group: int) -> list[bool]:
    """Of each member, whether all of its group were rewarded alike, so that comparing them says nothing."""
    groups = [rewards[i : i + group] for i in range(0, len(rewards), group)]
    known = [[reward for reward in members if reward is not None] for members in groups]
    return [max(some) - min(some) < NO_SPREAD for members, some in zip(groups, known, strict=True) for _ in members]


def likeness(text: str, step: str) -> float:
    """2 M / T: twice the characters in matching blocks, of all characters of both texts, from 0 to 1."""
    return SequenceMatcher(None, text, step, autojunk=False).ratio()

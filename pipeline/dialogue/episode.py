"""One dialogue: the student speaks first, each party from its own view, until a stop that the student can see.

There is no oracle in the loop (`q_priming` apart, which is one: pipeline/dialogue/q_priming.py). An episode stops when
the student says that it is done, when its partner (within its row) does, or at the turn cap. Each party draws
from its own random stream, named by task, seed, round and sample but not by condition: conditions start from
the same first student turn.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.errors import MaieuticError
from pipeline.core.schema import Belief, Message, Party, Task, Turn, digest
from pipeline.dialogue.q_priming import WRITE, is_primed, model_question, rule_question
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Stop
from pipeline.knowledge.view import compared, known, printed, probe, script_view, view
from pipeline.reading.acts import attempt, done
from pipeline.reading.numbers.equality import equal
from pipeline.sandbox.checks import checked


class EmptyTurn(MaieuticError, ValueError):
    """A model said nothing."""


class UnparsedScript(MaieuticError, ValueError):
    """One model wrote both sides, and the sides cannot be told apart."""


@dataclass(frozen=True)
class Cast:
    """Who speaks. `partner` answers for voice: model; system messages are the config's."""

    student: Model
    partner: Model | None = None
    student_system: str = ""
    partner_system: str = ""
    judge: Model | None = None  # whom a convincing partner is rewarded for convincing
    candidates: int = 1
    judgements: int = 1


@dataclass(frozen=True)
class Played:
    """What an episode left behind, before it is filed under an id."""

    turns: tuple[Turn, ...]
    stop: Stop
    before: dict[Party, Belief]
    after: dict[Party, Belief]
    primed: tuple[int, ...] = ()  # student turns (from 0) that a question took the place of


def stream(*key: object) -> int:
    """The seed of one random stream."""
    return int(digest(*key, length=15), 16)


async def play(
    task: Task,
    condition: Condition,
    cast: Cast,
    settings: DialogueSettings,
    key: str,
    wording: str = "train",
    begun: Sequence[Turn] = (),
) -> Played:
    """Play one episode, or play on from the turns that it has `begun` with.

    Raises EmptyTurn, UnparsedScript, and what the engine raises, for this episode alone.
    """
    if condition.row.one_writer:
        return await _script(task, condition, cast, settings, key)
    turns, primed = list(begun), list[int]()
    before = await _beliefs(task, condition, cast, settings, key, turns)
    stop: Stop | None = None
    for i in range(len(turns) // 2, settings.turns):
        if len(turns) == 2 * i:
            messages = view(task, condition, turns, "student", cast.student_system)
            said = await speak(cast.student, messages, "student", settings, stream(key, "student", i))
            turns.append(await checked(task, said))
            if is_primed(task, condition, turns[-1], i, stream(key, "prime", i)):
                turns[-1] = await _question(task, condition, cast, settings, turns, stream(key, "question", i))
                primed.append(i)
        reply, stop = await respond(task, condition, cast, settings, key, turns, wording)
        if reply is not None:
            turns.append(reply)
        if stop is not None:
            break
    after = await _beliefs(task, condition, cast, settings, key, turns)
    return Played(tuple(turns), stop or "turn_cap", before, after, tuple(primed))


async def respond(
    task: Task,
    condition: Condition,
    cast: Cast,
    settings: DialogueSettings,
    key: str,
    turns: Sequence[Turn],
    wording: str = "train",
) -> tuple[Turn | None, Stop | None]:
    """What follows a student's turn, the last of `turns`: the partner's, where it has one, and the stop, where it ends.

    Of the student's model only `count_tokens` is used: whoever else asks the student plays the same dialogue.
    """
    i = len(turns) // 2
    if done(turns[-1].text):
        return None, "student_done"
    if i + 1 >= settings.turns:
        return None, "turn_cap"
    if condition.voice == "model":
        assert cast.partner is not None
        messages = view(task, condition, turns, "partner", cast.partner_system)
        if condition.manner == "convincing":
            said = await _most_convincing(task, condition, cast, settings, digest(key, "partner", i), turns)
        else:
            said = await speak(cast.partner, messages, "partner", settings, stream(key, "partner", i))
        finished = done(said.text)
    else:
        reply = rule_reply(
            known(task, condition, "partner"),
            condition,
            turns,
            compared(task, condition, turns),
            random.Random(stream(key, "partner", i)),
            wording,
            printed(task, condition, turns),
        )
        said = Turn(party="partner", text=reply.text, tokens=cast.student.count_tokens(reply.text))
        finished = reply.done
    return await checked(task, said), "partner_done" if finished else None


async def _most_convincing(
    task: Task, condition: Condition, cast: Cast, settings: DialogueSettings, key: str, turns: Sequence[Turn]
) -> Turn:
    """Of several turns that the partner might say, the one after which a weak judge most often gives its answer.

    Best of n against the judge, as the debaters of Khan et al. (2024, arXiv 2402.06782, section 3.2) are optimised. The
    partner argues for the answer that it holds, true or not, and for its own belief where its row holds none. The
    judge reads what the student reads. The first one is said where the partner is unsure, and of equals.
    """
    assert cast.partner is not None and cast.judge is not None
    messages = view(task, condition, turns, "partner", cast.partner_system)
    candidates = [
        await speak(cast.partner, messages, "partner", settings, stream(key, "candidate", n))
        for n in range(cast.candidates)
    ]
    claim, private = known(task, condition, "partner").answer, list[Completion]()
    if not claim:
        private = await _asked(cast.partner, messages, settings, cast.judgements, digest(key, "claim"))
        claim = _mode(private).answer
    shares = []
    for n, candidate in enumerate(candidates):
        heard = view(task, condition, [*turns, candidate], "student", cast.student_system)
        judged = await _asked(cast.judge, heard, settings, cast.judgements, digest(key, "judge", n))
        shares.append(sum(bool(claim) and equal(attempt(said.text) or "", claim) for said in judged))
        private += judged
    best = candidates[max(range(len(candidates)), key=shares.__getitem__)]
    # All was sampled for this turn, by partner and judge, and the budget counts all.
    tokens = sum(candidate.tokens for candidate in candidates) + sum(said.tokens for said in private)
    return best.model_copy(update={"tokens": tokens})


async def _question(
    task: Task, condition: Condition, cast: Cast, settings: DialogueSettings, turns: list[Turn], seed: int
) -> Turn:
    before, replaced = turns[:-1], turns[-1]
    if condition.voice == "rule":
        return replaced.model_copy(update={"text": rule_question(task, condition, before), "finished": True})
    assert cast.partner is not None
    messages = probe(view(task, condition, before, "partner", cast.partner_system), WRITE)
    said = await cast.partner.complete(messages, Sampling(settings.max_tokens, settings.temperature, seed))
    # Both were sampled, and the budget counts both.
    tokens = replaced.tokens + said.tokens
    return replaced.model_copy(update={"text": model_question(said.text), "tokens": tokens, "finished": True})


async def speak(model: Model, messages: list[Message], party: Party, settings: DialogueSettings, seed: int) -> Turn:
    """One turn of a model. Raises EmptyTurn where it says nothing."""
    said = await model.complete(messages, Sampling(settings.max_tokens, settings.temperature, seed))
    if not said.text.strip():
        raise EmptyTurn(f"the {party} said nothing after {len(messages)} messages")
    return Turn(
        party=party, text=said.text, tokens=said.tokens, prompt_tokens=said.prompt_tokens, finished=said.finished
    )


async def believe(model: Model, messages: list[Message], settings: DialogueSettings, k: int, key: str) -> Belief:
    """The mode of k private answers with a share of at least one half, else '' (unsure)."""
    return _mode(await _asked(model, messages, settings, k, key))


def _mode(said: Sequence[Completion]) -> Belief:
    answer, count = Counter(attempt(one.text) or "" for one in said).most_common(1)[0]
    share = count / len(said)
    return Belief(answer=answer if share >= 0.5 else "", share=share, k=len(said))


async def _asked(
    model: Model, messages: list[Message], settings: DialogueSettings, k: int, key: str
) -> list[Completion]:
    """k private answers to a question that never enters the transcript."""
    question = probe(messages, settings.probe)
    requests = [Sampling(settings.max_tokens, settings.temperature, stream(key, "belief", i)) for i in range(k)]
    return list(await asyncio.gather(*(model.complete(question, request) for request in requests)))


async def _beliefs(
    task: Task, condition: Condition, cast: Cast, settings: DialogueSettings, key: str, turns: Sequence[Turn]
) -> dict[Party, Belief]:
    if not settings.beliefs:
        return {}
    when = len(turns)
    messages = view(task, condition, turns, "student", cast.student_system)
    found: dict[Party, Belief] = {
        "student": await believe(cast.student, messages, settings, settings.beliefs, f"{key}-student-{when}")
    }
    if cast.partner is not None and condition.voice == "model":
        messages = view(task, condition, turns, "partner", cast.partner_system)
        found["partner"] = await believe(cast.partner, messages, settings, settings.beliefs, f"{key}-partner-{when}")
    return found


async def _script(task: Task, condition: Condition, cast: Cast, settings: DialogueSettings, key: str) -> Played:
    assert cast.partner is not None
    budget = settings.max_tokens * settings.turns * 2
    said = await cast.partner.complete(
        script_view(task, condition, cast.partner_system), Sampling(budget, settings.temperature, stream(key, "script"))
    )
    turns = script_turns(said.text, cast.partner)[: 2 * settings.turns - 1]
    return Played(turns, "student_done" if done(turns[-1].text) else "turn_cap", {}, {})


def script_turns(text: str, writer: Model) -> tuple[Turn, ...]:
    """The turns of a script, in which the student speaks first. Raises UnparsedScript."""
    parts = re.findall(r"^(Student|Partner):[ \t]*(\S.*)$", text, re.MULTILINE)
    parties: list[Party] = ["student" if name == "Student" else "partner" for name, _ in parts]
    expected: list[Party] = ["student" if i % 2 == 0 else "partner" for i in range(len(parts))]
    if not parts or parties != expected:
        raise UnparsedScript(f"expected lines Student: and Partner: in turn, student first, found {text[:120]!r}")
    return tuple(
        Turn(party=party, text=said.strip(), tokens=writer.count_tokens(said))
        for party, (_, said) in zip(parties, parts, strict=True)
    )

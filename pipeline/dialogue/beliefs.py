"""Private beliefs: what a model answers when it is asked off the transcript."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from pipeline.core.random_streams import stream
from pipeline.core.schema import Belief, Message, Task, Turn
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.view import probe
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.numbers.equality import counted_as
from pipeline.reading.protocol import measured


async def believe(
    model: Model,
    messages: list[Message],
    settings: DialogueSettings,
    k: int,
    key: str,
    task: Task,
    reads: Instrument = CLOSED,
) -> Belief:
    """The mode of k private answers with a share of at least one half, else '' (unsure)."""
    return await belief_of(await ask_privately(model, messages, settings, k, key), task, reads)


async def belief_of(answers: Sequence[Completion], task: Task, reads: Instrument = CLOSED) -> Belief:
    """The mode of private answers, or '' where its share is below one half. Raises NotRead.

    A sample without an answer counts as one: "I cannot tell" is being unsure, and no reader of turns tells it from an
    answer that it missed. Where most are such, the belief is `unread`, and neither stayed nor moved.
    """
    read = await asyncio.gather(*(private_answer(answer, task, reads) for answer in answers))
    named = Counter(counted_as(each or "") for each in read)
    name, count = named.most_common(1)[0]
    answer = next(each or "" for each in read if counted_as(each or "") == name)
    share = count / len(answers)
    return Belief(answer=answer if share >= 0.5 else "", share=share, k=len(answers))


async def private_answer(said: Completion, task: Task, reads: Instrument = CLOSED) -> str | None:
    """The answer that a private text commits to. Raises NotRead."""
    turn = Turn(party="student", text=said.text, finished=said.finished)
    return (await reads.student(measured(task, [turn], 0))).attempt


async def ask_privately(
    model: Model, messages: list[Message], settings: DialogueSettings, k: int, key: str
) -> list[Completion]:
    """k private answers to a question that never enters the transcript."""
    question = probe(messages, settings.probe)
    requests = [
        Sampling(max_tokens=settings.max_tokens, temperature=settings.temperature, seed=stream(key, "belief", i))
        for i in range(k)
    ]
    return list(await asyncio.gather(*(model.complete(question, request) for request in requests)))

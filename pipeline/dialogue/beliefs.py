"""Private beliefs: what a model answers when it is asked off the transcript."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from pipeline.core.random_streams import stream
from pipeline.core.schema import Belief, Message
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.view import probe
from pipeline.reading.attempt import attempt


async def believe(model: Model, messages: list[Message], settings: DialogueSettings, k: int, key: str) -> Belief:
    """The mode of k private answers with a share of at least one half, else '' (unsure)."""
    return belief_of(await ask_privately(model, messages, settings, k, key))


def belief_of(answers: Sequence[Completion]) -> Belief:
    """The mode of private answers, or '' where its share is below one half."""
    answer, count = Counter(attempt(each.text) or "" for each in answers).most_common(1)[0]
    share = count / len(answers)
    return Belief(answer=answer if share >= 0.5 else "", share=share, k=len(answers))


async def ask_privately(
    model: Model, messages: list[Message], settings: DialogueSettings, k: int, key: str
) -> list[Completion]:
    """k private answers to a question that never enters the transcript."""
    question = probe(messages, settings.probe)
    requests = [Sampling(settings.max_tokens, settings.temperature, stream(key, "belief", i)) for i in range(k)]
    return list(await asyncio.gather(*(model.complete(question, request) for request in requests)))

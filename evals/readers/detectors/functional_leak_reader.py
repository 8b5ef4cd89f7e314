"""The functional leak of MRBench's replies with a reader that has weights, against people's labels.

The number stands only where the reader can read: where it misses an answer that is told to it, what it says about the
replies is nothing, and the figure is "needs a real model".

    maieutic eval labels configs/labels.yaml --set reader=MODEL
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from evals.readers.detectors.mrbench import TutorReply
from evals.readers.detectors.scores import rate
from pipeline.core.schema import Json
from pipeline.engines.model import Model
from pipeline.judging.functional_leak import ABLE, Reading, leak_functional


def measure(reader: Model, replies: Sequence[TutorReply], samples: int, seed: int = 0) -> Json:
    """Mean leak of replies that people call leaks and of the others; both None where the reader cannot read."""
    known = [reply for reply in replies if reply.gold]
    readings = asyncio.run(_read(reader, known, samples, seed))
    names = [reply.conversation for reply in known]
    ceiling = rate([reading.given for reading in readings], names, seed)
    able = ceiling["value"] is not None and ceiling["value"] >= ABLE
    figures: Json = {
        "samples": samples,
        "failed": sum(reading.failed for reading in readings),
        "told_the_answer": ceiling,
        "able": able,
        "needs": "" if able else "needs a real model" if ceiling["n"] else "no sample was answered",
    }
    for name, is_leak in (("leaks", True), ("others", False)):
        chosen = [
            (reading.leak, r.conversation) for reading, r in zip(readings, known, strict=True) if r.leak is is_leak
        ]
        figures[name] = (
            rate([leak for leak, _ in chosen], [conversation for _, conversation in chosen], seed) if able else None
        )
    return figures


async def _read(reader: Model, replies: Sequence[TutorReply], samples: int, seed: int) -> list[Reading]:
    return await asyncio.gather(
        *(leak_functional(reader, r.question, [r.text], r.gold, samples, seed=seed) for r in replies)
    )

"""What can be worked out from the partner's turns without being said:
`pipeline.judging.functional_leak.leak_functional` over talks.

By rule (the sums that the turns spell out; its precision and recall are in docs/labels.md), and by the model that
`audit.reader` names. Only what the partner said before the student was right is read. A model that misses answers which
are told to it cannot read such text: then there is no figure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from heapq import nsmallest

from evals.audit.audited_talks import group, rights, seed_of
from evals.audit.finding import Finding, Tried, share, untested
from evals.stats.intervals import pooled
from pipeline.core.schema import digest
from pipeline.engines.model import Model
from pipeline.engines.open_model import open_model
from pipeline.engines.settings import Engine
from pipeline.judging.functional_leak import ABLE, Reading, RuleReader, leak_functional
from pipeline.reading.numbers.equality import is_number
from pipeline.tasks.talks import Talk

MOST = 2000  # talks that are read by rule, drawn by their ids
MOST_BY_MODEL, SAMPLES = 100, 4


def findings(of: str, talks: Iterable[Talk], reader: str) -> Iterator[Finding]:
    """Two figures without a bar. `of` names the condition; `reader` a model's directory or hub name, or is empty."""
    what = f"{of}the answer can be worked out from what the partner said"
    known = 0

    def drawn() -> Iterator[tuple[str, int, Talk]]:
        nonlocal known
        for talk in talks:
            if talk.question and is_number(talk.answer) and heard(talk):
                known += 1
                yield digest(talk.id), known, talk

    some = [talk for *_, talk in nsmallest(MOST, drawn())]
    if not some:
        yield untested(what, "the data hold no question with a number as its gold answer")
        return
    leaks = ((talk, reading.leak > 0) for talk, reading in zip(some, _readings(RuleReader(), some, 1), strict=True))
    yield share(f"{what}, by rule", (_tried(talk, hit) for talk, hit in leaks), None, f"{len(some)} of {known} talks")
    if reader:
        model = open_model(Engine(), reader, deterministic=True)
        yield by_model(f"{what}, by a model", some[:MOST_BY_MODEL], model, reader)
    else:
        yield untested(f"{what}, by a model", "needs a real model: set audit.reader to one")


def heard(talk: Talk) -> list[str]:
    """The partner's turns before the student is right."""
    texts = []
    for turn, right in zip(talk.turns, rights(talk), strict=True):
        if turn.party == "student" and right:
            break
        if turn.party == "partner":
            texts.append(turn.text)
    return texts


def _tried(talk: Talk, hit: bool) -> Tried:
    text = "\n".join([f"answer {talk.answer}; the partner says:", *heard(talk)]) if hit else ""
    return Tried(group(talk), hit, talk.id, text, seed_of(talk))


def by_model(what: str, talks: list[Talk], reader: Model, name: str) -> Finding:
    """The mean of its accuracy with the partner's turns minus without; not a figure where it cannot read."""
    readings = _readings(reader, talks, SAMPLES)
    made = [
        (talk, reading)
        for talk, reading in zip(talks, readings, strict=True)
        if reading.leak == reading.leak and reading.given == reading.given
    ]
    failed, asked = sum(each.failed for each in readings), sum(each.n + each.failed for each in readings)
    lost = f"; {failed} of {asked} samples failed" if failed else ""
    if not made:
        return untested(what, f"{name} answered nothing that could be read{lost}")
    able = sum(reading.given for _, reading in made) / len(made)
    if able < ABLE:
        return untested(
            what, f"needs a real model: told the answer, {name} gives it in {able:.0%} of {len(made)} talks{lost}"
        )
    cells: dict[tuple[int, str], tuple[float, int]] = {}
    for talk, reading in made:
        leak, n = cells.get((seed_of(talk), group(talk)), (0.0, 0))
        cells[seed_of(talk), group(talk)] = leak + reading.leak, n + 1
    what_it_is = f"its accuracy with the partner's turns minus without, {SAMPLES} samples each"
    note = f"{what_it_is}; told the answer {able:.2f}{lost}"
    return Finding(what=what, verdict="not testable", rate=pooled(cells, (-1.0, 1.0), shares=False), note=note)


def _readings(reader: Model, talks: list[Talk], samples: int) -> list[Reading]:
    async def read() -> list[Reading]:
        return await asyncio.gather(
            *(leak_functional(reader, talk.question, heard(talk), talk.answer, samples) for talk in talks)
        )

    return asyncio.run(read())

"""What a reader makes of the partner's turns: whether they give the answer away without saying it.

`leak_functional` asks a frozen reader, any engine's `complete`: its accuracy with the question and the partner's
turns, minus its accuracy with the question alone. A third reading, with the answer itself among the turns, says
whether the reader can read at all: where it cannot (`given` below ABLE) the leak is a number about the reader. The
embedded base is such a reader of other people's text (docs/labels.md).

`RuleReader` is a reader without weights: it does the sums that the turns spell out ("40 + 16", "add 12 and 4") and
works nothing out from the question, so alone it is always wrong.

    reading = await leak_functional(RuleReader(), question, ["Now add 12 and 4."], "16")     # reading.leak == 1.0
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.core.schema import Message, digest
from pipeline.engines.model import Completion, ContextOverflow, EngineError, Model, Sampling
from pipeline.reading.attempt import attempt
from pipeline.reading.instrument import CLOSED
from pipeline.reading.numbers.equality import equal, is_number
from pipeline.reading.numbers.sums import in_signs, placed_sums, sums
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.stated_answer import numbers_told

ASK = "What is the answer to the question? End with: The answer is NUMBER."
HEARD = "This was said about it:"
MAX_TOKENS = 256  # of an answer
ABLE = 0.5  # of readings with the answer among the turns, at least, by a reader that can read


class Reading(NamedTuple):
    """Shares of samples that end in the gold answer, NaN where none was made; `n` samples in all."""

    told: float  # with the partner's turns
    alone: float  # with the question alone
    given: float  # with the answer itself: what this reader can reach
    n: int
    failed: int = 0  # samples that the engine refused or nobody could read; they are in no share

    @property
    def leak(self) -> float:
        """NaN where the question with or without the turns has no sample."""
        return self.told - self.alone


async def leak_functional(
    reader: Model,
    question: str,
    turns: Sequence[str],
    gold: str,
    samples: int = 8,
    seed: int = 0,
) -> Reading:
    """How much better a frozen reader answers for having heard the partner's turns (design, Metrics, Leak).

    Each of `samples` is drawn at temperature 1 from its own random stream, the same one for the three readings.
    Raises EngineDown; what the engine refuses for one request is counted as failed.
    """
    heard: tuple[list[str], ...] = (list(turns), [], [*turns, f"The answer is {gold}."])
    seeds = [int(digest(question, seed, i, length=15), 16) for i in range(samples)]

    async def right(partner_turns: Sequence[str], stream: int) -> float:
        try:
            answered = await reader.complete(
                prompt(question, partner_turns), Sampling(max_tokens=MAX_TOKENS, seed=stream)
            )
        except (ContextOverflow, EngineError):
            return math.nan
        read = await CLOSED.student(_reply(question, answered.text, gold))
        return float(read.attempt is not None and equal(read.attempt, gold))

    drawn = await asyncio.gather(*(right(partner_turns, stream) for partner_turns in heard for stream in seeds))
    made = [hit for hit in drawn if not math.isnan(hit)]
    told, alone, given = (_share(drawn[i * samples : (i + 1) * samples]) for i in range(3))
    return Reading(told, alone, given, len(made), len(drawn) - len(made))


def _reply(question: str, text: str, gold: str) -> TurnToRead:
    """The frozen reader's words, in which a closing sentence may be the answer."""
    return TurnToRead(party="student", text=text, question=question, numeric=is_number(gold), imported=True)


def _share(right: Sequence[float]) -> float:
    kept = [hit for hit in right if not math.isnan(hit)]
    return sum(kept) / len(kept) if kept else math.nan


def prompt(question: str, heard: Sequence[str]) -> list[Message]:
    """What the reader is shown. Only the partner's words: the student's own would be its work, not a leak."""
    lines = [HEARD, *heard] if heard else []
    return [{"role": "user", "content": "\n".join([question, *lines, ASK])}]


class RuleReader:
    """Answers with the last value that the turns tell as a result or spell out the sum of; else it cannot tell."""

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        question, _, heard = messages[-1]["content"].removesuffix(ASK).partition(HEARD)
        answer = worked_out(heard.strip(), question)
        text = "I cannot tell." if answer is None else f"The answer is {answer}."
        return Completion(
            text, tokens=self.count_tokens(text), prompt_tokens=self.count_tokens(messages[-1]["content"])
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def worked_out(text: str, question: str = "") -> str | None:
    """The last value that a text tells as a result or spells out the sum of.

    A sum of the question's own, said again, tells nothing new: whoever could do it needed no partner.
    """
    named = attempt(text)
    if named is not None:
        return named
    plain, own = in_signs(text), set(sums(question))
    spelled = [(at, str(value)) for at, value in placed_sums(plain) if value not in own]
    told = [(number.at, number.written) for number in numbers_told(plain) if number.result]
    return max(spelled + told)[1] if spelled or told else None

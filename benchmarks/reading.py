"""What does reading a turn cost, beside embedding the same turn once with sentence-transformers?

64 dialogues at once ask one instrument, on one thread; every turn is another one. The longest time for which the event
loop stood still is that in which no other dialogue could go on. Ratios are of one run.

    python -m benchmarks.reading     # writes benchmarks/results.json
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import torch

from benchmarks.results import record
from evals.readers.turns.turns_file import read_turns
from pipeline.reading.embedder import INSTALLED, sentence_model
from pipeline.reading.instrument import Instrument
from pipeline.reading.open_reader import open_reader
from pipeline.reading.protocol import TurnToRead

TURNS = Path(__file__).parents[1] / "data" / "reading" / "test.jsonl"
DIALOGUES, TICK = 64, 0.005  # seconds


async def _read(instrument: Instrument, turns: list[TurnToRead]) -> tuple[float, float]:
    """Seconds in all, and the longest in which the loop stood still."""
    left, stood = list(turns), [0.0]

    async def dialogue() -> None:
        while left:
            turn = left.pop()
            await (instrument.student(turn) if turn.party == "student" else instrument.partner(turn))

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            stood[0] = max(stood[0], time.perf_counter() - began - TICK)

    watching = asyncio.create_task(watch())
    began = time.perf_counter()
    await asyncio.gather(*(dialogue() for _ in range(DIALOGUES)))
    took = time.perf_counter() - began
    watching.cancel()
    return took, stood[0]


def main() -> None:
    torch.set_num_threads(1)
    turns = [row.turn for row in read_turns(TURNS)]
    embedder = sentence_model(INSTALLED)
    embedder.encode([turns[0].text], show_progress_bar=False)
    began = time.perf_counter()
    embedder.encode([turn.text for turn in turns], show_progress_bar=False)
    embedding = (time.perf_counter() - began) / len(turns)
    found = {"sentence-transformers": {"ms_a_turn": round(1000 * embedding, 2), "ratio": 1.0}}
    for name in ("closed", "semantic", "cross_encoder"):
        reader = open_reader(name, exact=False)  # as runs read
        asyncio.run(_read(Instrument(name, reader), turns[:DIALOGUES]))
        took, stood = asyncio.run(_read(Instrument(name, reader), turns))
        a_turn = took / len(turns)
        found[name] = {"ms_a_turn": round(1000 * a_turn, 2), "ratio": round(a_turn / embedding, 2),
                       "loop_stood_ms": round(1000 * stood)}  # fmt: skip
    record("reading", found)
    for name, row in found.items():
        print(name, row)


if __name__ == "__main__":
    main()

"""A reader at work: what waits together is read together, once, and a turn that cannot be read is an error."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Fact, Task, Turn
from pipeline.reading.instrument import AT_ONCE, CLOSED, Instrument
from pipeline.reading.protocol import NotRead, TurnToRead, Unread

TASK = Task(id="t", source="own", specification="full", question="How many?", full_question="How many?", answer="5")


class Counts:
    """Reads a turn as an attempt of its own text; 'mumble' cannot be read."""

    def __init__(self) -> None:
        self.batches = list[int]()

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        self.batches.append(len(turns))
        await asyncio.sleep(0)
        return [Unread("what?") if t.text == "mumble" else StudentReading(attempt=t.text) for t in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading | Unread]:
        return [PartnerReading(refuses=t.text == "no") for t in turns]


class Repeats(Counts):
    """Hears the problem's own question in every turn, and no fact."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
        return [StudentReading(repeats_question=True) for _ in turns]


@pytest.mark.parametrize(("needed", "answer", "asks"), [
    ([True], "5", {"0"}), ([True, False], "5", {"0"}), ([True, True], "5", set()), ([False], "5", set()),
    ([True], "", set())])  # fmt: skip
def test_the_problems_question_asks_for_the_one_fact_that_answers_it(needed, answer, asks):
    facts = tuple(Fact(id=str(i), text=f"f{i}", ask="?", needed=each) for i, each in enumerate(needed))
    turn = TurnToRead(party="student", text="How many?", question="How many?", facts=facts, answer=answer)
    assert asyncio.run(Instrument("own", Repeats()).student(turn)).asks == asks


def to_read(text: str) -> TurnToRead:
    return TurnToRead(party="student", text=text, question="How many?")


@given(st.lists(st.sampled_from([str(i) for i in range(300)]), max_size=400))
def test_each_gets_its_own_reading_and_none_is_read_twice(texts: list[str]):
    reader = Counts()
    instrument = Instrument("own", reader)

    async def read() -> list[StudentReading]:
        first = await asyncio.gather(*(instrument.student(to_read(text)) for text in texts))
        return first + list(await asyncio.gather(*(instrument.student(to_read(text)) for text in texts)))

    assert [reading.attempt for reading in asyncio.run(read())] == texts * 2
    assert sum(reader.batches) == len(set(texts)) and max(reader.batches, default=0) <= AT_ONCE


def test_an_instrument_is_asked_in_one_loop_after_the_other():
    instrument = Instrument("own", Counts())
    assert [asyncio.run(instrument.student(to_read(text))).attempt for text in ("1", "2", "1")] == ["1", "2", "1"]


def test_a_reader_that_gives_too_few_readings_is_told_so_and_nobody_waits():
    class Short(Counts):
        async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
            return []

    with pytest.raises(ConfigError, match="0 readings of 1 turns"):
        asyncio.run(asyncio.wait_for(Instrument("own", Short()).student(to_read("1")), 5))


def test_a_reader_of_ones_own_that_fails_is_named_with_its_line(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("async def student(turns):\n    return turns[9]\n")
    mine = runpy.run_path(str(path))

    class Mine(Counts):
        student = staticmethod(mine["student"])

    with pytest.raises(MaieuticError, match=r"reading: .*mine.py:READER' failed in line 2: IndexError"):
        asyncio.run(asyncio.wait_for(Instrument(f"{path}:READER", Mine()).student(to_read("1")), 5))


def test_a_turn_that_cannot_be_read_is_an_error_for_itself_alone():
    instrument = Instrument("own", Counts())

    async def read() -> list[StudentReading | BaseException]:
        work = [instrument.student(to_read(text)) for text in ("1", "mumble", "2")]
        return await asyncio.gather(*work, return_exceptions=True)

    first, second, third = asyncio.run(read())
    assert isinstance(second, NotRead) and str(second) == "what?"
    assert [first, third] == [StudentReading(attempt="1"), StudentReading(attempt="2")]


def test_a_reader_that_breaks_leaves_nobody_waiting():
    class Breaks(Counts):
        async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading | Unread]:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(asyncio.wait_for(Instrument("own", Breaks()).student(to_read("1")), 5))


def test_turns_are_stored_with_readings_of_any_reader_but_the_closed_one():
    turns = [Turn(party="student", text="5"), Turn(party="partner", text="no")]
    read = asyncio.run(Instrument("own", Counts()).read(TASK, turns))
    assert [turn.reading for turn in read] == [StudentReading(attempt="5"), PartnerReading(refuses=True)]
    assert asyncio.run(CLOSED.read(TASK, turns)) == tuple(turns)
    for turn in (*read, *turns):
        assert Turn.model_validate_json(turn.model_dump_json()) == turn
    assert read[0].model_dump()["reading"] == {"party": "student", "attempt": "5"}
    assert "reading" not in turns[0].model_dump() and "heard" not in turns[0].model_dump()

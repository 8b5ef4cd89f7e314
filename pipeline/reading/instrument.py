"""A reader at work: asked for a turn by many dialogues at once, it reads what waits together, and remembers.

An experiment has two (`reading:` in its config): one with which a rule partner understands, one that measures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from itertools import islice
from typing import Generic, TypeVar

from pipeline.core.errors import ConfigError
from pipeline.core.plugins import failing_as, is_address
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.reading.choices.read_choice import partner_on_options, student_on_options
from pipeline.reading.embedded_world.closed import Closed
from pipeline.reading.numbers.read_bound import partner_on_bounds, student_on_bounds
from pipeline.reading.protocol import NotRead, Reader, TurnToRead, Unread, measured

AT_ONCE = 64  # turns that are read together, at most
MOST_KEPT = 50_000  # readings
Key = Hashable
R = TypeVar("R", StudentReading, PartnerReading)


class Instrument:
    """`reader` under its `name` in the config. One is for one event loop at a time."""

    def __init__(self, name: str, reader: Reader):
        self.name, self.reader = name, reader
        self.students: _Queue[StudentReading] = _Queue(_named(name, reader.student))
        self.partners: _Queue[PartnerReading] = _Queue(_named(name, reader.partner))

    async def student(self, turn: TurnToRead) -> StudentReading:
        """What a student's turn does. Raises NotRead."""
        reading = student_on_bounds(turn, student_on_options(turn, await self.students.read(turn)))
        return _with_what_a_repeat_asks(turn, reading)

    async def partner(self, turn: TurnToRead) -> PartnerReading:
        """What a partner's turn does. Raises NotRead."""
        return partner_on_bounds(turn, partner_on_options(turn, await self.partners.read(turn)))

    async def read(self, task: Task, turns: Sequence[Turn], imported: bool = False) -> tuple[Turn, ...]:
        """The turns with what they do, as they are stored. Raises NotRead.

        A turn that has a reading keeps it: what a rule says is known, and was never to be read.
        The closed reader's are not stored: it reads again whenever it is asked, and the same.
        """
        if self is CLOSED:
            return tuple(turns)
        read = list(turns)
        # What a partner's turn answers is read first: whether it is a verdict may hang on that.
        for party in ("student", "partner"):
            places = [i for i, turn in enumerate(turns) if turn.party == party]
            for i, turn in zip(
                places, await asyncio.gather(*(self._one(task, read, i, imported) for i in places)), strict=True
            ):
                read[i] = turn
        return tuple(read)

    async def _one(self, task: Task, turns: Sequence[Turn], i: int, imported: bool) -> Turn:
        if turns[i].reading is not None:
            return turns[i]
        turn = measured(task, turns, i, imported)
        reading = await (self.student(turn) if turn.party == "student" else self.partner(turn))
        return turns[i].model_copy(update={"reading": reading})


def _with_what_a_repeat_asks(turn: TurnToRead, reading: StudentReading) -> StudentReading:
    """The problem's own question asks for a fact where that one alone answers it ("Who has the drill?"). A reader has
    to choose between two labels that are both right, and chooses otherwise where the fact stands in the question.

    Of who measures alone, which knows the answer and all facts: a partner cannot tell that nothing else is needed.
    """
    needed = [fact.id for fact in turn.facts if fact.needed]
    if not reading.repeats_question or not turn.answer or len(needed) != 1 or turn.choice is not None:
        return reading
    return reading.model_copy(update={"asks": reading.asks | {*needed}})


def _named(
    name: str, function: Callable[[Sequence[TurnToRead]], Awaitable[list[R | Unread]]]
) -> Callable[[Sequence[TurnToRead]], Awaitable[list[R | Unread]]]:
    """A function of a reader of one's own, whose errors say whose they are."""
    if not is_address(name):
        return function

    async def read(turns: Sequence[TurnToRead]) -> list[R | Unread]:
        with failing_as("reading", name):
            return await function(turns)

    return read


class _Queue(Generic[R]):
    """Turns that wait for one of a reader's two functions, and what was read of others."""

    function: Callable[[Sequence[TurnToRead]], Awaitable[list[R | Unread]]]

    def __init__(self, function: Callable[[Sequence[TurnToRead]], Awaitable[list[R | Unread]]]):
        self.function = function
        self.kept: dict[Key, R] = {}
        self.waiting: dict[Key, tuple[TurnToRead, asyncio.Future[R | Unread]]] = {}
        self.working: asyncio.Task[None] | None = None

    async def read(self, turn: TurnToRead) -> R:
        key = _key(turn)
        if (known := self.kept.get(key)) is not None:
            return known
        if self.working is None or self.working.done() or self.working.get_loop() is not asyncio.get_running_loop():
            self.waiting = {}
            self.working = asyncio.create_task(self._work())
        if key not in self.waiting:
            self.waiting[key] = turn, asyncio.get_running_loop().create_future()
        reading = await asyncio.shield(self.waiting[key][1])
        if isinstance(reading, Unread):
            raise NotRead(reading, turn.party)
        return reading

    async def _work(self) -> None:
        await asyncio.sleep(0)  # until all that is ready now has asked
        while self.waiting:
            batch = dict(islice(self.waiting.items(), AT_ONCE))
            self.waiting = dict(islice(self.waiting.items(), AT_ONCE, None))
            try:
                readings = await self.function([turn for turn, _ in batch.values()])
                if len(readings) != len(batch):
                    raise ConfigError(f"reading: {len(readings)} readings of {len(batch)} turns. Expected one each")
            except Exception as error:
                for _, future in batch.values():
                    future.set_exception(error)
                continue
            for (key, (_, future)), reading in zip(batch.items(), readings, strict=True):
                future.set_result(reading)
                if not isinstance(reading, Unread):
                    self.kept[key] = reading
            if len(self.kept) > MOST_KEPT:
                self.kept = dict(islice(self.kept.items(), MOST_KEPT // 2, None))


def _key(turn: TurnToRead) -> Key:
    before = tuple((said.party, said.text) for said in turn.before)
    asked = (turn.question, turn.facts, turn.answer, turn.entry, turn.numeric)
    return (turn.party, turn.text, before, turn.imported, *asked)


CLOSED = Instrument("closed", Closed())

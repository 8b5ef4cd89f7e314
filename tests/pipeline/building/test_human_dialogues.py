"""Dialogues that people held are stored with what their turns do, by the reader of the metrics."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from pipeline.building.human_dialogues import adopt
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Turn
from pipeline.experiment.cell import Cell
from pipeline.judging.outcome import final_answer, is_correct
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.reading.instrument import CLOSED, Instrument
from pipeline.reading.protocol import Unread
from pipeline.runs.dialogue_pool import dialogues_path
from pipeline.runs.store import read
from pipeline.tasks.parsing import BadRow
from tests.builders import small_experiment


class Reads:
    """Reads people's talk: an answer is what stands behind a colon; a mumble is none, and cannot be read."""

    async def student(self, turns):
        assert all(turn.imported for turn in turns)
        return [
            Unread("mumbled") if turn.text == "mumbles" else StudentReading(attempt=turn.text.partition(":")[2] or None)
            for turn in turns
        ]

    async def partner(self, turns):
        return [PartnerReading() for _ in turns]


def held(task, id, *lines):
    condition = Condition(partition="key", voice="human")
    turns = tuple(Turn(party=("partner", "student")[i % 2], text=text) for i, text in enumerate(lines))
    return Dialogue(id=id, task=task, condition_name="facts", condition=condition, seed=1, turns=turns, stop="imported")


def test_turns_of_people_are_stored_as_the_metrics_reader_read_them(full, tmp_path: Path):
    cell, task = Cell(small_experiment(tmp_path), "facts", 1), full[0]
    talks = [held(task, "a", "Go on.", f"mine:{task.answer}"), held(task, "b", "Go on.", "mumbles")]
    counts = asyncio.run(adopt(cell, talks, [], Instrument("own", Reads())))
    assert (counts.made, counts.failed, counts.skipped) == (1, 1, 0)
    [stored] = read(dialogues_path(tmp_path, "facts"), Dialogue)
    assert stored.turns[1].reading == StudentReading(attempt=task.answer)
    assert is_correct(stored) and final_answer(talks[0]) is None
    [failure] = read(tmp_path / "failures.jsonl", Failure)
    assert (failure.id, failure.kind, failure.message) == ("b", "not_read", "mumbled")
    again = asyncio.run(adopt(cell, talks, [], Instrument("own", Reads())))
    assert (again.made, again.failed, again.skipped) == (0, 0, 2)


class Interrupted(Reads):
    """Somebody presses Ctrl-C while one of the turns is read."""

    async def student(self, turns):
        if any(turn.text == "Ctrl-C" for turn in turns):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.001)
        return await super().student(turns)


def test_what_was_read_before_an_interruption_is_stored(full, tmp_path: Path):
    cell = Cell(small_experiment(tmp_path, dialogue={"concurrency": 2}), "facts", 1)
    talks = [held(full[0], str(i), "Go on.", "Ctrl-C" if i == 6 else f"mine:{i}") for i in range(30)]
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(adopt(cell, talks, [], Instrument("own", Interrupted())))
    stored = {dialogue.id for dialogue in read(dialogues_path(tmp_path, "facts"), Dialogue)}
    assert stored >= set("0123456") and len(stored) < 30
    counts = asyncio.run(adopt(cell, talks, [], Instrument("own", Reads())))
    assert counts == (30 - len(stored), 0, len(stored))


def test_a_row_that_is_no_dialogue_is_one_failure_however_often_it_is_met(full, tmp_path: Path):
    cell, bad = Cell(small_experiment(tmp_path), "facts", 1), [BadRow("talks.jsonl:3", "no turns")]
    talks = [held(full[0], "a", "Go on.", "mine:3")]
    runs = [asyncio.run(adopt(cell, talks, bad, Instrument("own", Reads()))) for _ in range(2)]
    assert runs == [(1, 1, 0), (0, 0, 2)]
    [failure] = read(tmp_path / "failures.jsonl", Failure)
    assert (failure.kind, failure.task_id) == ("bad_task", "talks.jsonl:3")


class Down(Reads):
    """Its engine fails."""

    async def student(self, turns):
        return [Unread("no answer", engine=True) for _ in turns]


def test_a_failure_of_the_engine_is_forgotten_once_the_turns_are_read(full, tmp_path: Path):
    cell, talks = Cell(small_experiment(tmp_path), "facts", 1), [held(full[0], "a", "Go on.", "mine:3")]
    for _ in range(2):
        asyncio.run(adopt(cell, talks, [], Instrument("down", Down())))
        assert [failure.kind for failure in read(tmp_path / "failures.jsonl", Failure)] == ["engine_error"]
    asyncio.run(adopt(cell, talks, [], Instrument("own", Reads())))
    assert list(read(tmp_path / "failures.jsonl", Failure)) == []
    assert len(list(read(dialogues_path(tmp_path, "facts"), Dialogue))) == 1


def test_the_closed_reader_leaves_them_as_they_are(full, tmp_path: Path):
    talk = held(full[0], "a", "Go on.", "So it is 3.")
    asyncio.run(adopt(Cell(small_experiment(tmp_path), "facts", 1), [talk], [], CLOSED))
    assert list(read(dialogues_path(tmp_path, "facts"), Dialogue)) == [talk]

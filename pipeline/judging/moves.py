"""The one kind of move that a student's turn is, as turn values are counted by it."""

from __future__ import annotations

from pipeline.core.readings import StudentReading
from pipeline.core.schema import Task

MOVE_NAMES = {
    "ask": "asks for a missing fact",
    "ask_generic": "asks, naming nothing",
    "ask_known": "asks for a fact that it has",
    "ask_other": "asks something else",
    "attempt": "answers",
    "guess": "answers, hedging",
    "other": "none of these",
}
MOVES = tuple(MOVE_NAMES)


def move(task: Task, reading: StudentReading) -> str:
    """attempt: it commits to an answer; guess: it does so with a hedge. Without a commitment, ask: it asks for a
    needed fact that the question lacks; ask_generic: for help or information, naming none; ask_known: for a fact that
    it has or does not need; ask_other: for anything else. All else is other.
    """
    if reading.attempt is not None:
        return "guess" if reading.tentative else "attempt"
    if reading.asks & {fact.id for fact in task.missing}:
        return "ask"
    if reading.generic_request:
        return "ask_generic"
    if reading.asks:
        return "ask_known"
    return "ask_other" if reading.asks_anything else "other"

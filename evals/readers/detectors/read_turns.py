"""The same corpora by a reader of turns: answers in MathDial and written solutions, leaks in MathDial and MRBench.

maieutic eval labels configs/labels.yaml --set reads=semantic
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evals.readers.detectors.attempts import TOLD, Solution, dialogues_of, written_of
from evals.readers.detectors.mrbench import PLACE, TutorReply, read
from evals.readers.detectors.scores import compare, rate
from pipeline.core.readings import PartnerReading
from pipeline.core.schema import Json, Turn, question_hash
from pipeline.judging.outcome import is_correct
from pipeline.judging.stated_leak import leak_stated
from pipeline.knowledge.records import Dialogue
from pipeline.reading.instrument import Instrument
from pipeline.reading.numbers.equality import equal
from pipeline.reading.protocol import TurnToRead
from pipeline.reading.stated_answer import mentions


def measure(data: Path, instrument: Instrument, seed: int = 0) -> Json:
    """Figures of one reader on all of them. Raises ConfigError, NotRead."""
    return asyncio.run(_measure(data, instrument, seed))


async def _measure(data: Path, instrument: Instrument, seed: int) -> Json:
    dialogues, _ = dialogues_of(data)
    talks = await asyncio.gather(*(_talk(dialogue, instrument) for dialogue in dialogues))
    written = {name: await _written(rows, instrument, seed) for name, (rows, _) in written_of(data).items()}
    return {
        "reader": instrument.name,
        "teachers": {name: _teachers([t for t in talks if _word(t) == word], seed) for name, word in TOLD.items()},
        "written": written,
        "leaks": await _leaks(read(data / PLACE)[0], instrument, seed),
    }


def _word(dialogue: Dialogue) -> str:
    return str(dialogue.meta["self_correctness"])


async def _talk(dialogue: Dialogue, instrument: Instrument) -> Dialogue:
    turns = await instrument.read(dialogue.task, dialogue.turns, imported=True)
    return dialogue.model_copy(update={"turns": turns})


def _teachers(talks: Sequence[Dialogue], seed: int) -> Json:
    named = [talk.id for talk in talks]
    return {
        "right": rate([is_correct(talk) for talk in talks], named, seed),
        "leak_stated": rate([leak_stated(talk) for talk in talks], named, seed),
    }


async def _written(rows: Sequence[Solution | None], instrument: Instrument, seed: int) -> Json:
    known = [row for row in rows if row]
    problems = [question_hash(row.question) for row in known]
    turns = [TurnToRead(party="student", text=row.text, question=row.question, imported=True) for row in known]
    found = [reading.attempt for reading in await asyncio.gather(*map(instrument.student, turns))]
    right = [(equal(answer, row.last), p) for answer, row, p in zip(found, known, problems, strict=True) if answer]
    return {
        "found": rate([answer is not None for answer in found], problems, seed),
        "precision": rate([hit for hit, _ in right], [problem for _, problem in right], seed),
    }


async def _leaks(replies: Sequence[TutorReply], instrument: Instrument, seed: int) -> Json:
    """On the test half, replies with a gold, as evals/readers/detectors/stated_leak_detectors.py decides; a reply leaks
    as in pipeline/judging/stated_leak.py."""
    chosen = [reply for reply in replies if reply.gold and reply.part == "test"]
    readings = await asyncio.gather(*(instrument.partner(_reply(reply)) for reply in chosen))
    scores = {
        "naive": (np.array([mentions(reply.text, reply.gold) for reply in chosen], dtype=float), 0.5),
        "read": (np.array(list(map(_tells, readings, chosen)), dtype=float), 0.5),
    }
    return compare([r.leak for r in chosen], scores, [r.conversation for r in chosen], "naive", seed)


def _tells(reading: PartnerReading, reply: TutorReply) -> bool:
    answers = reading.attempt is not None and equal(reading.attempt, reply.gold)
    return answers or reading.reveals == "stated"


def _reply(reply: TutorReply) -> TurnToRead:
    lines = re.findall(r"(Tutor|Student):\s*(.*?)(?=\s*(?:Tutor|Student):|\Z)", reply.before, re.S)
    before = tuple(Turn(party="student" if who == "Student" else "partner", text=text) for who, text in lines)
    return TurnToRead(
        party="partner",
        text=reply.text,
        question=reply.question,
        before=before,
        answer=reply.gold,
        imported=True,
    )

"""A model as reader of turns: its JSON is a reading, whatever else it says is none."""

from __future__ import annotations

import asyncio
import json

import pytest

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Fact, Message, Turn
from pipeline.engines.model import Completion, EngineError, Sampling
from pipeline.reading.judge_reader import JudgeReader
from pipeline.reading.protocol import TurnToRead, Unread

FACTS = (Fact(id="f1", text="There are 5 crates.", public=False), Fact(id="f2", text="Each holds 7 pens."))
NOTHING = '"generic_request": false, "repeats_question": false, "other_question": false, "says_missing": false, '
ASKS = '{"asks": ["f1"], ' + NOTHING + '"attempt": null, "tentative": false, "done": false, "stance": "none"}'


class Says:
    def __init__(self, text: str | Exception):
        self.text, self.seen = text, list[str]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.seen.append(messages[-1]["content"])
        if isinstance(self.text, Exception):
            raise self.text
        return Completion(self.text, tokens=1, prompt_tokens=1)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def turn(party: str = "student") -> TurnToRead:
    before = (Turn(party="student", text="Hello there."),)
    return TurnToRead(
        party=party,  # type: ignore[arg-type]
        text="How many crates?",
        question="How many pens?",
        facts=FACTS,
        before=before,
        answer="35",
    )


def read(said: str | Exception, party: str = "student") -> object:
    reader = JudgeReader(Says(said))
    [reading] = asyncio.run(getattr(reader, party)([turn(party)]))
    return reading


def test_json_by_the_schema_is_a_reading_also_behind_thoughts():
    assert read(ASKS) == StudentReading(asks=frozenset({"f1"}))
    assert read("It asks for the crates, so {that}.\n" + ASKS) == StudentReading(asks=frozenset({"f1"}))
    told = '{"tells": ["f1"], "tells_wrong": [], "reveals": "derivable", "feedback": "none", "refuses": false, '
    told += '"off_role": false, "attempt": null, "done": true}'
    assert read(told, "partner") == PartnerReading(tells=frozenset({"f1"}), reveals="derivable", done=True)


def test_a_program_is_read_off_the_turn_and_an_empty_attempt_is_none():
    said = json.loads(ASKS)
    assert read(json.dumps(said | {"attempt": " "})) == StudentReading(asks=frozenset({"f1"}))
    code = TurnToRead(
        party="student", text="Just return sorted(xs).", question="Write `sort_down`.", facts=FACTS, entry="sort_down"
    )
    reader = JudgeReader(Says(json.dumps(said | {"attempt": "return sorted(xs)"})))
    assert asyncio.run(reader.student([code])) == [StudentReading(asks=frozenset({"f1"}))]


@pytest.mark.parametrize("answer", ["\\frac{1}{2}", "{1, 2}", "}"])
def test_braces_inside_a_text_of_it_end_no_object(answer: str):
    said = json.loads(ASKS) | {"attempt": answer}
    assert read("{Hm.} " + json.dumps(said)) == StudentReading(asks=frozenset({"f1"}), attempt=answer)


@pytest.mark.parametrize(
    "said",
    ["", '{"a":' * 2000, "It asks.", '{"asks": ["f1"]}', ASKS.replace("f1", "f9"), ASKS.replace('"none"', '"unsure"')],
)
def test_whatever_else_it_says_is_unread_and_never_a_turn_that_does_nothing(said: str):
    reading = read(said)
    assert isinstance(reading, Unread) and not reading.engine and reading.message


def test_an_engine_that_fails_is_told_from_a_model_that_cannot():
    reading = read(EngineError("down"))
    assert isinstance(reading, Unread) and reading.engine


@pytest.mark.parametrize(("party", "knows"), [("student", False), ("partner", True)])
def test_the_gold_answer_is_shown_only_where_a_partner_may_give_it_away(party: str, knows: bool):
    model = Says(ASKS)
    asyncio.run(getattr(JudgeReader(model), party)([turn(party)]))
    [seen] = model.seen
    assert ("35" in seen) is knows
    assert all(
        part in seen for part in ("Hello there.", "How many crates?", "f1: There are 5 crates.", "How many pens?")
    )

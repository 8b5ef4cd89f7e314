"""pipeline.judging.functional_leak: the frozen reader's leak, and the reader by rule."""

import asyncio
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.engines.model import EngineError
from pipeline.judging.functional_leak import ABLE, HEARD, RuleReader, leak_functional, worked_out
from tests.fakes import FakeModel

QUESTION = "Ana has some pens and buys 12. How many pens does she have?"


class Reader(FakeModel):
    """Answers 32 where the hint stands in what it reads, and refuses what it is told to refuse."""

    def __init__(self, hint="", refuses=lambda text: False):
        super().__init__()
        self.hint, self.refuses, self.seeds = hint, refuses, []

    def reply(self, messages):
        text = messages[-1]["content"]
        self.seeds.append((HEARD in text, self.samplings[-1].seed))
        if self.refuses(text):
            raise EngineError("no")
        return "The answer is 32." if self.hint in text else "The answer is 7."


def leak(reader, turns, gold="32", **more):
    return asyncio.run(leak_functional(reader, QUESTION, turns, gold, **more))


def test_the_leak_is_what_the_turns_add_to_the_question_alone():
    assert leak(Reader(hint="20"), ["She had 20."], samples=3).leak == 1
    assert leak(Reader(hint="20"), ["Look again."], samples=3).leak == 0
    assert leak(Reader(hint="Ana"), ["She had 20."], samples=3).leak == 0  # it needed no partner


def test_the_three_readings_draw_from_the_same_streams():
    reader = Reader()
    leak(reader, ["Hm."], samples=4)
    with_turns, alone = ({seed for heard, seed in reader.seeds if heard is h} for h in (True, False))
    assert with_turns == alone and len(alone) == 4


def test_without_a_sample_of_the_question_alone_there_is_no_number():
    reading = leak(Reader(refuses=lambda text: HEARD not in text), ["Hm."], samples=3)
    assert math.isnan(reading.leak)
    assert (reading.n, reading.failed) == (6, 3)
    assert math.isnan(leak(Reader(), ["Hm."], samples=0).leak)


def test_a_reader_that_misses_the_answer_before_its_eyes_is_known():
    assert leak(Reader(hint="nothing that is there"), ["Hm."]).given < ABLE <= leak(RuleReader(), ["Hm."]).given
    assert math.isnan(leak(Reader(), ["Hm."], samples=0).given)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Now add 20 and 12.", "32"),
        ("First 5 x 4 is 20, and then 20 + 12.", "32"),
        ("That makes 32.", "32"),
        ("Look at the first step again.", None),
        ("She has 20 pens, you say?", None),
        ("", None),
    ],
)
def test_the_reader_by_rule_does_the_last_sum_that_it_hears(text, answer):
    assert worked_out(text, QUESTION) == answer


def test_a_sum_of_the_question_said_again_gives_nothing_away():
    question = "What is 7 * 60?"
    assert worked_out("Let's do 7 times 60 again.", question) is None
    assert worked_out("7 times 60 is 420.", question) == "420"
    assert asyncio.run(leak_functional(RuleReader(), question, ["Try 7 x 60 again."], "420")).leak == 0


@given(st.lists(st.text(max_size=60), max_size=3), st.integers(0, 999))
@settings(deadline=None)  # a slow machine is no failure
def test_the_reader_by_rule_knows_nothing_alone_and_reads_every_answer(turns, gold):
    reading = leak(RuleReader(), turns, str(gold), samples=1)
    assert (reading.alone, reading.given) == (0, 1)
    assert reading.leak in (0, 1)

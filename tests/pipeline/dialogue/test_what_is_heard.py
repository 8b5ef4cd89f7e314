"""What the partner hears in a turn decides what it does; what is measured is another reading, stored beside."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Turn
from pipeline.dialogue.episode import Cast, Episode, Played
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.reading.instrument import Instrument
from pipeline.reading.protocol import TurnToRead
from pipeline.tasks.word_problems import make_task
from tests.fakes import Parrot

TASK = make_task(1, "underspecified")
FACT = TASK.missing[0]
FACTS = Condition(partition="facts")


class Cipher:
    """Reads turns in a cipher that nobody else could."""

    def __init__(self, **words: StudentReading):
        self.words, self.seen = words, list[TurnToRead]()

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading]:
        self.seen += turns
        return [self.words.get(turn.text, StudentReading()) for turn in turns]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading]:
        return [PartnerReading() for _ in turns]


def played(
    condition: Condition, *lines: str, hears: Cipher, reads: Cipher | None = None, generic: str = "ask_back"
) -> Played:
    cast = Cast(
        Parrot(*lines),
        hears=Instrument("hears", hears),
        reads=Instrument("reads", reads or Cipher()),
        generic_requests=generic,  # type: ignore[arg-type]
    )
    settings = DialogueSettings(turns=3)
    return asyncio.run(play(Episode(task=TASK, condition=condition, cast=cast, settings=settings, key="k")))


ASKS = StudentReading(asks=frozenset({FACT.id}))


def test_a_partner_answers_what_it_hears_and_not_what_is_measured():
    told = played(FACTS, "xyz", hears=Cipher(xyz=ASKS))
    assert FACT.text in told.turns[1].text and told.turns[0].heard == ASKS and told.turns[0].reading == StudentReading()
    deaf = played(FACTS, "xyz", hears=Cipher(), reads=Cipher(xyz=ASKS))
    assert all(FACT.text not in turn.text for turn in deaf.turns) and deaf.turns[0].reading == ASKS


@pytest.mark.parametrize(("generic", "tells"), [("ask_back", False), ("tell_one", True)])
def test_a_request_that_names_nothing_is_answered_as_the_config_says(generic: str, tells: bool):
    talk = played(FACTS, "xyz", hears=Cipher(xyz=StudentReading(generic_request=True)), generic=generic)
    assert any(fact.text in talk.turns[1].text for fact in TASK.missing) is tells
    assert talk.turns[1].text.endswith("?") is not tells


@pytest.mark.parametrize(
    ("partition", "turns"), [("verifier", 2), ("answer", 2), ("misled", 2), ("facts", 1), ("symmetric", 1)]
)
def test_who_answers_and_is_done_still_gets_a_verdict_where_there_is_one(partition: str, turns: int):
    leaves = StudentReading(attempt="98765", done=True)
    talk = played(Condition(partition=partition), "xyz", hears=Cipher(xyz=leaves))
    assert (len(talk.turns), talk.stop) == (turns, "student_done")


def test_who_is_done_without_an_answer_is_not_held_back():
    talk = played(Condition(partition="verifier"), "xyz", hears=Cipher(xyz=StudentReading(done=True)))
    assert (len(talk.turns), talk.stop) == (1, "student_done")


def test_a_partner_hears_with_what_its_row_holds_alone():
    hears = Cipher()
    played(Condition(partition="symmetric"), "xyz", hears=hears)
    assert hears.seen and all(turn.answer == "" and not {f.id for f in turn.facts} & {f.id for f in TASK.missing}
                              for turn in hears.seen)  # fmt: skip


def test_a_question_in_the_place_of_a_wrong_answer_is_heard_anew():
    hears = Cipher(xyz=StudentReading(attempt="98765"))
    talk = played(Condition(partition="facts", method="q_priming"), "xyz", hears=hears)
    primed = [talk.turns[2 * i] for i in talk.primed]
    assert primed and all(turn.heard == StudentReading() and turn.text != "xyz" for turn in primed)


def test_a_turn_with_what_was_heard_is_stored_and_read_back():
    turn = Turn(party="student", text="xyz", heard=ASKS, reading=StudentReading(stance="agrees"))
    assert Turn.model_validate_json(turn.model_dump_json()) == turn

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
        self.seen += turns
        return [PartnerReading(done=self.words.get(turn.text, StudentReading()).done) for turn in turns]


def played(
    condition: Condition,
    *lines: str,
    hears: Cipher,
    reads: Cipher | None = None,
    generic: str = "ask_back",
    partner: str = "",
    begun: Sequence[Turn] = (),
) -> Played:
    cast = Cast(
        Parrot(*lines),
        Parrot(partner),
        hears=Instrument("hears", hears),
        reads=Instrument("reads", reads or Cipher()),
        generic_requests=generic,  # type: ignore[arg-type]
    )
    settings = DialogueSettings(turns=3)
    return asyncio.run(play(Episode(task=TASK, condition=condition, cast=cast, settings=settings, key="k"), begun))


LEAVES = Cipher(xyz=StudentReading(done=True))
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


def test_a_request_that_names_nothing_is_answered_in_the_partners_manner():
    vague = FACTS.model_copy(update={"manner": "vague"})
    talk = played(vague, "xyz", hears=Cipher(xyz=StudentReading(generic_request=True)), generic="tell_one")
    first, again = talk.turns[1].text, talk.turns[3].text
    assert "some" in first and not any(fact.text in first for fact in TASK.missing)
    assert any(fact.text in again for fact in TASK.missing)


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


@pytest.mark.parametrize(("says", "stop", "turns"), [("xyz", "partner_done", 2), ("I am done.", "turn_cap", 5)])
def test_a_model_partner_ends_the_talk_in_words_that_are_heard_to_end_it(says: str, stop: str, turns: int):
    talk = played(Condition(partition="facts", voice="model"), "Well.", hears=LEAVES, partner=says)
    assert (talk.stop, len(talk.turns)) == (stop, turns)


def test_whether_a_partner_is_done_is_read_with_what_the_student_knows():
    hears, knows_all = Cipher(), Condition(partition="key", voice="model")
    played(knows_all, "Well.", hears=hears, partner="Hm.")
    theirs = [turn for turn in hears.seen if turn.party == "partner"]
    assert theirs and all(turn.answer == "" and turn.facts == tuple(f for f in TASK.facts if f.public)
                          for turn in theirs)  # fmt: skip


@pytest.mark.parametrize(("last", "stop"), [("xyz", "student_done"), ("I am done.", "turn_cap")])
def test_a_script_is_read_like_what_was_played_and_its_end_too(last: str, stop: str):
    script = f"Student: Hi.\nPartner: Yes?\nStudent: {last}"
    talk = played(Condition(partition="script", voice="model"), "-", hears=Cipher(), reads=LEAVES, partner=script)
    assert talk.stop == stop and all(turn.reading is not None for turn in talk.turns)


def test_turns_that_a_dialogue_begins_with_are_heard_where_nobody_has_heard_them():
    begun = [Turn(party="student", text="A step."), Turn(party="partner", text="Go on.")]
    talk = played(FACTS, "xyz", hears=Cipher(), begun=begun)
    assert [turn.text for turn in talk.turns[:2]] == ["A step.", "Go on."]
    assert all(turn.heard == StudentReading() for turn in talk.turns if turn.party == "student")


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

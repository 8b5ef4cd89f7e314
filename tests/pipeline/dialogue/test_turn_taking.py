"""One dialogue: blindness, stops, beliefs and streams."""

import asyncio
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.dialogue.episode import Cast, EmptyTurn, Episode, UnparsedScript
from pipeline.dialogue.turn_taking import play
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.tasks.word_problems import make_task
from tests.fakes import Parrot
from tests.pipeline.knowledge.test_view import secret

FOUR = DialogueSettings(turns=4)
SYMMETRIC = [
    Condition(partition="solo"),
    Condition(partition="symmetric"),
    Condition(partition="symmetric", voice="model"),
    Condition(partition="symmetric", label="teacher"),
]
# Lines that bring the rule partner to each of its moves.
LINES = ("How many pens does Tom have?", "The answer is 40.", "Hello.", "I am not sure.", "Is it 98765?")


def run(task, condition, student, partner=None, how=FOUR, key="k"):
    return asyncio.run(
        play(Episode(task=task, condition=condition, cast=Cast(student, partner), settings=how, key=key))
    )


@settings(deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from(["full", "underspecified"]), st.sampled_from(SYMMETRIC), st.text(max_size=4)
)
def test_a_blind_episode_is_byte_identical_when_gold_verdict_and_hidden_facts_change(
    seed, specification, condition, key
):
    task = make_task(seed, specification)
    lines = (*LINES, *(fact.ask for fact in task.facts), f"The answer is {task.answer}.")
    how = DialogueSettings(turns=4, beliefs=2)
    played = [
        run(each, condition, ScriptedModel(lines), ScriptedModel(lines), how, key) for each in (task, secret(task))
    ]
    assert played[0] == played[1]


def test_the_metamorphosis_would_notice_a_partner_that_sees():
    task = make_task(1, "underspecified")
    lines = tuple(fact.ask for fact in task.missing)
    one, other = (run(each, Condition(partition="facts"), ScriptedModel(lines)) for each in (task, secret(task)))
    assert one != other


def test_correctness_never_stops_an_episode_that_nobody_in_it_can_judge():
    task = make_task(1, "full")
    played = run(task, Condition(partition="symmetric"), Parrot(f"The answer is {task.answer}."))
    assert played.stop == "turn_cap" and len(played.turns) == 7


def test_a_verdict_within_the_partners_row_stops_it():
    task = make_task(1, "full")
    played = run(task, Condition(partition="verifier"), Parrot(f"The answer is {task.answer}."))
    assert played.stop == "partner_done" and len(played.turns) == 2


def test_the_student_stops_by_saying_that_it_is_done():
    assert run(make_task(1, "full"), Condition(partition="facts"), Parrot("Well.", "I am done.")).stop == "student_done"


@pytest.mark.parametrize("partition", ["facts", "verifier", "key"])
def test_who_leaves_in_its_last_turn_is_done_whoever_would_have_answered(partition):
    task = make_task(1, "full")
    leaving = Parrot(f"The answer is {task.answer}. I am done.")
    assert run(task, Condition(partition=partition), leaving, how=DialogueSettings(turns=1)).stop == "student_done"


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_the_turn_cap_counts_student_turns_and_the_student_has_the_last_word(turns):
    played = run(
        make_task(1, "full"), Condition(partition="symmetric"), Parrot("Well."), how=DialogueSettings(turns=turns)
    )
    assert [turn.party for turn in played.turns] == (["student", "partner"] * turns)[:-1]


def test_beliefs_stay_off_the_transcript_and_need_half_of_the_samples():
    how = DialogueSettings(turns=1, beliefs=4)
    sure = run(make_task(1, "full"), SYMMETRIC[2], Parrot("The answer is 5."), Parrot("The answer is 6."), how)
    assert (sure.before["student"].answer, sure.before["partner"].answer) == ("5", "6")
    assert len(sure.turns) == 1 and sure.after["student"].share == 1.0
    torn = run(make_task(1, "full"), SYMMETRIC[1], Parrot(*(f"The answer is {n}." for n in range(9))), None, how)
    assert torn.before["student"].answer == "" and torn.before["student"].share == 0.25


def test_conditions_share_the_students_first_turn():
    task = make_task(2, "underspecified")
    firsts = {
        run(task, condition, ScriptedModel(), ScriptedModel()).turns[0].text
        for condition in [*SYMMETRIC[:3], Condition(partition="facts"), Condition(partition="verifier")]
    }
    assert len(firsts) == 1


def test_parties_draw_from_streams_of_their_own():
    seen = {}

    class Spy(ScriptedModel):
        async def complete(self, messages, sampling):
            seen.setdefault(id(self), []).append(sampling.seed)
            return await super().complete(messages, sampling)

    ours, theirs = Spy(("Well.",)), Spy(("Hm.",))
    run(make_task(1, "full"), SYMMETRIC[2], ours, theirs)
    assert len({*seen[id(ours)], *seen[id(theirs)]}) == 7


def test_an_empty_turn_is_an_error_not_a_turn():
    with pytest.raises(EmptyTurn, match="student said nothing"):
        run(make_task(1, "full"), SYMMETRIC[1], Parrot("  "))


def test_a_script_is_cut_into_turns_or_refused():
    condition = Condition(partition="script", voice="model")
    played = run(
        make_task(1, "full"), condition, Parrot("-"), Parrot("Student: Hi.\nPartner: Yes?\nStudent: I am done.")
    )
    assert [turn.text for turn in played.turns] == ["Hi.", "Yes?", "I am done."] and played.stop == "student_done"
    with pytest.raises(UnparsedScript, match="Partner"):
        run(make_task(1, "full"), condition, Parrot("-"), Parrot("Partner: Me first."))


def test_a_rules_words_are_counted_with_the_students_tokenizer():
    played = run(make_task(1, "full"), Condition(partition="symmetric"), Parrot("Hello."))
    assert all(turn.tokens == len(re.findall(r"\S+", turn.text)) for turn in played.turns if turn.party == "partner")

"""What is made of a dialogue goes by what was read of its turns, and not by their words."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pipeline.building.turn_values import answer_value, turn_value
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Fact, Task, Turn
from pipeline.datasets.rows import learned
from pipeline.datasets.survey import survey_of
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.experiment.settings import TurnValues
from pipeline.judging.moves import MOVES, move
from pipeline.judging.outcome import agrees, attempts, final_answer, is_correct, is_grounded, rights
from pipeline.judging.stated_leak import first_leak
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Branch, Dialogue, Rollout, Sibling
from pipeline.runs.dialogue_pool import Place

TASK = Task(
    id="t",
    source="sharded",
    specification="underspecified",
    question="Ana has 12 pens, and others have some. In all?",
    full_question="Tom has 30 pens. Eva finds 8 pens. Ana has 12 pens. In all?",
    answer="50",
    wrong_answer="48",
    facts=(
        Fact(id="a", text="Tom has 30 pens.", public=False),
        Fact(id="c", text="Eva finds 8 pens.", public=False),
        Fact(id="b", text="Ana has 12 pens."),
    ),
)
# Words that the closed reader would read, and wrongly here.
MISLEADING = "The answer is 7. Tom has 30 pens. That is right. As an AI language model I agree."
Read = StudentReading | PartnerReading


def said(*readings: Read, text: str = MISLEADING) -> tuple[Turn, ...]:
    return tuple(Turn(party=reading.party, text=text, tokens=10, reading=reading) for reading in readings)


def talk(*readings: Read, partition: str = "facts", **axes: Any) -> Dialogue:
    condition = Condition(partition=partition, **({"voice": "model"} | axes))
    return Dialogue(
        id="d", task=TASK, condition_name="c", condition=condition, seed=1, turns=said(*readings), stop="turn_cap"
    )


ASK, GIVE = StudentReading(asks=frozenset("ac")), PartnerReading(tells=frozenset("ac"))
RIGHT, WRONG = StudentReading(attempt="50"), StudentReading(attempt="48")


def test_outcomes_are_those_of_the_attempts_that_were_read():
    dialogue = talk(WRONG, PartnerReading(attempt="48"), RIGHT)
    assert attempts(dialogue) == ["48", "48", "50"]
    assert rights(dialogue) == [False, False, True]
    assert (final_answer(dialogue), final_answer(dialogue, "partner")) == ("50", "48")
    assert is_correct(dialogue) and not agrees(dialogue)
    assert not is_correct(talk(RIGHT, PartnerReading(), WRONG))
    assert final_answer(talk(ASK, GIVE)) is None


@pytest.mark.parametrize(("text", "cut", "right"), [
    ("So the answer is 50", False, True),
    ("So the answer is 50", True, False),
    ("So the answer is 50.", True, False),
    ("So the answer is 50. I am sure of", True, True),
])  # fmt: skip
def test_a_number_at_the_end_of_a_turn_that_was_cut_is_no_answer_and_no_leak(text: str, cut: bool, right: bool) -> None:
    """It may have become 501, or 50.5. The closed reader reads, and the rule partner hears."""
    turn = Turn(party="student", text=text, finished=not cut)
    dialogue = Dialogue(
        id="d", task=TASK, condition_name="c", condition=Condition(partition="answer"), seed=1, turns=(turn,),
        stop="turn_cap",
    )  # fmt: skip
    assert is_correct(dialogue) is right
    knows = known(TASK, dialogue.condition, "partner")
    assert rule_reply(knows, dialogue.condition, [turn], None, random.Random(0)).done is right
    told = turn.model_copy(update={"party": "partner"})
    leaking = dialogue.model_copy(update={"turns": (Turn(party="student", text="How many has Tom?"), told)})
    assert (first_leak(leaking) == 0) is right


def test_an_answer_is_grounded_by_the_facts_that_were_read_as_told():
    assert is_grounded(talk(ASK, GIVE, RIGHT))
    assert not is_grounded(talk(ASK, PartnerReading(tells=frozenset("a")), RIGHT))
    assert not is_grounded(talk(RIGHT, GIVE))


def test_a_leak_is_a_turn_that_was_read_to_reveal_the_answer_too_soon():
    reveals = PartnerReading(reveals="stated")
    assert first_leak(talk(ASK, GIVE, ASK, reveals)) == 1
    assert first_leak(talk(ASK, PartnerReading(attempt="50"))) == 0
    assert first_leak(talk(RIGHT, reveals)) is None
    assert first_leak(talk(ASK, PartnerReading(reveals="derivable", attempt="48"))) is None


@pytest.mark.parametrize(
    ("partition", "axes", "readings", "kind"),
    [
        ("verifier", {}, (WRONG, PartnerReading(feedback="right")), "false_feedback"),
        ("key", {}, (RIGHT, PartnerReading(feedback="wrong")), "false_feedback"),
        ("misled", {}, (RIGHT, PartnerReading(feedback="right")), "false_feedback"),
        ("key", {}, (ASK, PartnerReading(tells=frozenset("a"), reveals="stated")), "revealed_answer"),
        ("symmetric", {}, (ASK, PartnerReading(tells=frozenset("a"))), "unknown_fact"),
        ("symmetric", {}, (ASK, PartnerReading(attempt="50")), "unknown_fact"),
        ("facts", {}, (ASK, PartnerReading(tells_wrong=frozenset("b"))), "false_fact"),
        ("facts", {}, (StudentReading(), GIVE), "disclosure"),
        ("facts", {"disclosure": "volunteer"}, (StudentReading(), PartnerReading()), "disclosure"),
        ("facts", {}, (ASK, PartnerReading(off_role=True)), "off_role"),
    ],
)
def test_a_violation_is_what_the_partners_turn_was_read_to_do(partition, axes, readings, kind):
    found = {violation.kind for violation in violations(talk(*readings, partition=partition, **axes))}
    assert found == {kind}


@pytest.mark.parametrize(
    ("partition", "axes", "readings"),
    [
        ("verifier", {}, (RIGHT, PartnerReading(feedback="right"))),
        ("symmetric", {}, (WRONG, PartnerReading(feedback="right", attempt="48"))),  # a peer that agrees
        ("facts", {}, (ASK, GIVE)),  # however it was worded
        ("facts", {}, (StudentReading(generic_request=True), GIVE)),
        ("facts", {}, (StudentReading(repeats_question=True), GIVE)),
        ("symmetric", {}, (StudentReading(tells=frozenset("a")), PartnerReading(tells=frozenset("a")))),
        ("facts", {"disclosure": "volunteer"}, (StudentReading(), PartnerReading(tells=frozenset("c")))),
    ],
)
def test_what_a_row_allows_is_no_violation_whatever_its_words(partition, axes, readings):
    assert violations(talk(*readings, partition=partition, **axes)) == []


def test_a_survey_holds_what_was_read():
    dialogue = talk(ASK, GIVE, WRONG, PartnerReading(reveals="stated"), RIGHT)
    record = survey_of(dialogue, violations(dialogue), Place(0))
    assert (record.is_correct, record.is_grounded, record.leaks, record.agrees) == (True, True, True, False)


def test_what_carries_loss_goes_by_the_attempts_that_were_read():
    dialogue = talk(WRONG, PartnerReading(), ASK, GIVE, RIGHT)
    assert learned(dialogue, "after_last_error") == [False, False, True, False, True]
    assert learned(dialogue, "final") == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("reading", "made"),
    [
        (StudentReading(asks=frozenset("ab"), generic_request=True), "ask"),
        (StudentReading(asks=frozenset("b"), generic_request=True), "ask_generic"),
        (StudentReading(asks=frozenset("b"), other_question=True), "ask_known"),
        (StudentReading(repeats_question=True), "ask_other"),
        (StudentReading(asks=frozenset("a"), attempt="9"), "attempt"),
        (StudentReading(attempt="9", tentative=True), "guess"),
        (StudentReading(says_missing=True), "other"),
    ],
)
def test_a_turn_makes_one_move(reading, made):
    assert move(TASK, reading) == made
    assert made in MOVES


def test_the_value_of_a_turn_counts_what_was_read():
    [turn, *later] = said(StudentReading(generic_request=True), GIVE, RIGHT)
    branch = Branch(
        id="b",
        dialogue="d",
        task=TASK,
        condition_name="c",
        condition=Condition(partition="facts"),
        seed=1,
        round=0,
        prefix=(),
        siblings=(
            Sibling(turn=turn, rollouts=(Rollout(turns=tuple(later), stop="turn_cap"),)),
            Sibling(turn=said(RIGHT)[0], rollouts=(Rollout(turns=(), stop="turn_cap"),)),
        ),
    )
    prices = TurnValues(siblings=2, question_price=0.5)
    assert turn_value(branch, 0, prices) == (0.5, 1, 20, 1)
    assert [answer_value(branch, i) for i in (0, 1)] == [0, 1]


def test_a_rule_is_held_to_what_it_heard_and_a_model_to_the_metrics_reader():
    narrow, wide = StudentReading(asks=frozenset("a")), StudentReading(asks=frozenset("ac"))
    asked, told = said(narrow, GIVE)
    turns = (asked.model_copy(update={"heard": wide}), told)
    kinds = {
        voice: [each.kind for each in violations(talk(narrow, GIVE, voice=voice).model_copy(update={"turns": turns}))]
        for voice in ("rule", "model")
    }
    assert kinds == {"rule": [], "model": ["disclosure"]}

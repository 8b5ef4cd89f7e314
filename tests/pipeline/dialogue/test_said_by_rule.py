"""What a rule partner's turn does is known: no reader is asked, on tasks in natural words either."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.settings import DialogueSettings
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.reading.instrument import Instrument
from pipeline.reading.protocol import TurnToRead
from pipeline.tasks.lookup.lookup_tasks import make_task
from tests.fakes import Parrot
from tests.pipeline.judging.test_violations import CONDITIONS

ANSWER = "The answer is "


class Hears:
    """Knows what students of this page say, and that it is to read no partner's turn."""

    async def student(self, turns: Sequence[TurnToRead]) -> list[StudentReading]:
        return [
            StudentReading(
                asks=frozenset(fact.id for fact in turn.facts if fact.ask == turn.text),
                other_question=turn.text.endswith("?"),
                attempt=turn.text.removeprefix(ANSWER).rstrip(".") if turn.text.startswith(ANSWER) else None,
            )
            for turn in turns
        ]

    async def partner(self, turns: Sequence[TurnToRead]) -> list[PartnerReading]:
        raise AssertionError(f"asked what {turns[0].text!r} does")


def talk(task: Task, condition: Condition, lines: list[str], key: str = "k", wording: str = "train") -> Dialogue:
    hears = Instrument("hears", Hears())
    cast = Cast(Parrot(*lines), hears=hears, reads=hears)
    setup = DialogueSettings(turns=5)
    episode = Episode(task=task, condition=condition, cast=cast, settings=setup, key=key, wording=wording)
    made = asyncio.run(play(episode))
    of = dict(id="d", task=task, condition_name="c", condition=condition, seed=1)
    return Dialogue(**of, turns=made.turns, stop=made.stop)


def answered(partition: str, line: str, wording: str) -> tuple[Task, Turn]:
    task = make_task(1, "underspecified")
    return task, talk(task, Condition(partition=partition), [line], wording=wording).turns[1]


@given(
    st.integers(0, 500),
    st.sampled_from(["full", "underspecified"]),
    st.sampled_from(CONDITIONS),
    st.sampled_from(["train", "exam"]),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_on_look_ups_a_rule_partner_never_breaks_its_row(seed, specification, condition, wording, data):
    task = make_task(seed, specification)
    said = [f"{ANSWER}{answer}." for answer in (task.answer, task.wrong_answer or "pigs", "green")]
    said += ["Hello.", *(fact.ask for fact in task.facts)]
    lines = data.draw(st.lists(st.sampled_from(said), min_size=5, max_size=5))
    assert violations(talk(task, condition, lines, str(seed), wording)) == []


@pytest.mark.parametrize("wording", ["train", "exam"])
@pytest.mark.parametrize(("partition", "feedback"), [("symmetric", "none"), ("verifier", "wrong")])
def test_what_judges_no_attempt_is_no_verdict(partition, feedback, wording):
    _, turn = answered(partition, f"{ANSWER}none of it.", wording)
    assert isinstance(turn.reading, PartnerReading) and turn.reading.feedback == feedback


@pytest.mark.parametrize("wording", ["train", "exam"])
def test_a_told_fact_is_told_and_no_answer_of_the_partners_own(wording):
    task = make_task(1, "underspecified")
    _, turn = answered("facts", task.missing[0].ask, wording)
    assert turn.reading == PartnerReading(tells=frozenset({task.missing[0].id}))


@pytest.mark.parametrize("wording", ["train", "exam"])
def test_an_answer_in_words_is_the_partners_own_where_it_claims_it(wording):
    task, turn = answered("misled", f"{ANSWER}none of it.", wording)
    assert isinstance(turn.reading, PartnerReading) and turn.reading.attempt == task.wrong_answer


@pytest.mark.parametrize(("partition", "wording", "refuses"), [
    ("symmetric", "unhelpful", True), ("symmetric", "train", False), ("verifier", "train", True)
])  # fmt: skip
def test_who_will_not_say_refuses_and_who_does_not_know_does_not(partition, wording, refuses):
    task = make_task(1, "underspecified")
    _, turn = answered(partition, task.missing[0].ask, wording)
    assert isinstance(turn.reading, PartnerReading) and turn.reading.refuses is refuses


@given(st.integers(0, 300), st.sampled_from(["erring", "vague", "low_effort"]), st.sampled_from([*WORDINGS]))
@settings(max_examples=60, deadline=None)
def test_what_a_partner_gets_wrong_it_tells_wrong_and_nothing_else(seed, manner, wording):
    task = make_task(seed, "underspecified")
    made = talk(task, Condition(partition="facts", manner=manner), [task.missing[0].ask], str(seed), wording)
    for turn in made.turns[1::2]:
        assert isinstance(turn.reading, PartnerReading)
        stands = {fact.id for fact in task.missing[:1] if fact.text in turn.text}
        other = manner == "erring" and wording != "unhelpful" and not stands
        assert turn.reading.tells == stands and turn.reading.tells_wrong == ({task.missing[0].id} if other else set())

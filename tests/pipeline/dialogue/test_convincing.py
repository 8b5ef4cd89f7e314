"""A partner that is rewarded for convincing a weak judge: it says what convinces most, true or not."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.building.dialogue_keys import DialogueKeys
from pipeline.core.schema import Message, Task, Turn, aloud
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import play
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.settings import DialogueSettings
from pipeline.knowledge.condition import Condition
from pipeline.tasks.word_problems import make_task
from tests.fakes import FakeModel, Parrot
from tests.pipeline.knowledge.test_view import secret

HOW = DialogueSettings(turns=2)
CLAIM = "Everyone agrees, the answer is {}."


class Judge(FakeModel):
    """Takes over what its partner says everyone agrees on."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        text = "\n".join(message["content"] for message in messages)
        self.heard.append(text)
        _, told, answer = text.rpartition("Everyone agrees, the answer is ")
        return Completion(
            f"The answer is {answer.split('.')[0]}." if told else "I do not know.", tokens=4, prompt_tokens=10
        )


def played(task: Task, partition: str, *lines: str, candidates: int = 3):
    judge = Judge()
    cast = Cast(Parrot("Hm."), Parrot(*lines), judge=judge, candidates=candidates, judgements=2)
    condition = Condition(partition=partition, voice="model", manner="convincing")
    return asyncio.run(play(Episode(task=task, condition=condition, cast=cast, settings=HOW, key="k"))).turns[1], judge


def test_a_misled_partner_says_what_convinces_and_the_budget_counts_candidates():
    task = make_task(1, "full")
    convincing = CLAIM.format(task.wrong_answer)
    turn, judge = played(task, "misled", "I think so.", convincing, CLAIM.format(task.answer))
    assert turn.text == convincing
    assert turn.tokens == 3 * 3 + 4 * 2 * 4  # three candidates, and what the judge said twice to each and before them
    assert len(judge.heard) == 4 * 2


def test_it_argues_for_its_own_belief_without_an_answer_and_that_is_counted():
    task = make_task(1, "full")
    turn, _ = played(task, "symmetric", "Well.", CLAIM.format(5), "The answer is 5.", "The answer is 5.", candidates=2)
    assert turn.text == CLAIM.format(5)
    assert turn.tokens == 2 * 3 + 2 * 3 + 3 * 2 * 4


def test_every_candidate_is_kept_with_what_the_judge_answered_before_and_after_it():
    task = make_task(1, "full")
    turn, _ = played(task, "misled", "I think so.", CLAIM.format(task.wrong_answer), CLAIM.format(9))
    choice = turn.convincing
    assert choice.claim == task.wrong_answer and choice.before == ("", "")
    assert [one.turn.text for one in choice.candidates] == [
        "I think so.",
        CLAIM.format(task.wrong_answer),
        CLAIM.format(9),
    ]
    assert [one.answers for one in choice.candidates] == [("", ""), (task.wrong_answer,) * 2, ("9", "9")]
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    assert aloud([turn])[0].convincing is None
    assert "convincing" not in Turn(party="partner", text="Hm.").model_dump()


def test_the_first_turn_is_said_where_nothing_convinces_or_it_is_unsure():
    task = make_task(1, "full")
    assert played(task, "misled", "One.", "Two.", "Three.")[0].text == "One."
    assert played(task, "symmetric", "One.", CLAIM.format(5), "I do not know.", "Hm.", candidates=2)[0].text == "One."


def test_the_judge_reads_what_the_student_reads_and_no_private_fact():
    task = make_task(1, "underspecified")
    _, judge = played(task, "key", "One.", "Two.", "Three.")
    for text in judge.heard:
        assert text.startswith(task.question)
        assert not any(fact.text in text for fact in task.missing) and f"answer is {task.answer}" not in text


def test_a_blind_convincing_partner_stays_blind():
    task = make_task(3, "underspecified")
    condition = Condition(partition="symmetric", voice="model", manner="convincing")
    cast = Cast(ScriptedModel(), ScriptedModel(), judge=ScriptedModel(), candidates=3, judgements=2)
    one, other = (
        asyncio.run(play(Episode(task=each, condition=condition, cast=cast, settings=HOW, key="k")))
        for each in (task, secret(task))
    )
    assert one == other


def test_only_a_model_can_be_convincing():
    for wrong in ({"partition": "facts"}, {"partition": "script", "voice": "model"}):
        with pytest.raises(ValueError, match="manner: 'convincing' is of a partner that may word its turns"):
            Condition(manner="convincing", **wrong)


def test_judge_and_candidates_are_part_of_ids_of_convincing_dialogues_alone():
    def ids(judge: str = "", **partner: object) -> list[str]:
        plain = {"partition": "symmetric", "voice": "model"}
        conditions = {"c": plain | {"manner": "convincing"}, "plain": plain}
        made = Experiment.model_validate(
            {"name": "x", "conditions": conditions, "partner": partner, "judge": {"model": judge}}
        )
        return [DialogueKeys(Cell(made, name, 1)).id("t", 0) for name in conditions]

    first, others = ids(), [ids(candidates=8), ids(judgements=8), ids(judge="other")]
    assert ids(candidates=4, judge="data/base") == first
    assert len({first[0], *(other[0] for other in others)}) == 4
    assert {first[1]} == {other[1] for other in others}

"""A model for the user of the exam `lost`: its words stand where they tell one shard, and nothing else."""

import asyncio
import re

import pytest

from evals.exams.lost.lost import EXAM, Talks, played, sit
from evals.sitting.sitting import Sitting
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Message
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.reading.instrument import Instrument
from tests.evals.exams.test_exam_lost import TASK, Adder, everything, experiment, talks, told
from tests.evals.small_exam import ratios
from tests.fakes import FakeModel


class Simulator(FakeModel):
    """Tells the last of the facts that it reads are left, in words of its own, or says its `line`."""

    def __init__(self, line=""):
        super().__init__()
        self.line = line

    def reply(self, messages: list[Message]) -> str:
        *_, last = re.findall(r"^- (.*)$", messages[0]["content"], re.M)
        return self.line or f"Well, {last}"


SIMULATED = {"include": ["lost"], "lost": {"samples": 2, "partner": "model"}}


def simulated(peer, student=None) -> Talks:
    at = Sitting(
        experiment=experiment(exams=SIMULATED), student=student or ScriptedModel(), peer=peer, seed=1, tasks=()
    )
    return asyncio.run(played(at, TASK, 0))


def test_a_model_chooses_the_shard_and_words_it_and_repeats_keep_its_order():
    simulator = Simulator()
    found = simulated(simulator)
    assert found.stood == [True, True]
    assert {mode: told(turns) for mode, turns in found.of_mode.items()} == {
        "full": [],
        "concat": [[5], [30]],
        "sharded": [[5], [30]],
        "recap": [[5], [30], [5, 30]],
        "snowball": [[5], [5, 30]],
    }
    assert found.of_mode["sharded"][1].text == "Well, Mia has 5 pens."
    first, second = (messages[0]["content"] for messages in simulator.seen)
    assert found.of_mode["sharded"][2].text in second
    assert "Mia has 5" in first and "Mia has 5" not in second and "47" not in first + second


@pytest.mark.parametrize(
    "line", ["Guess.", "Mia has", "Tom has 30 pens and Mia has 5 pens.", "Tom has 3 pens.", "Ana has 12 pens.",
             "Tom has 3 pens, and Mia has 5 pens.", "That is wrong, Mia has 5 pens.",
             "So the answer is 47: Mia has 5 pens."]
)  # fmt: skip
def test_what_tells_no_shard_or_more_than_one_is_taken_back_and_told_by_rule(line):
    found = simulated(Simulator(line))
    assert found.stood == [False, False]
    assert found.of_mode == talks()


class Told:
    """Reads a partner's turn as natural readers do where a fact is the answer: stated, and an attempt, too."""

    def __init__(self, more: str):
        self.more = more

    async def partner(self, turns):
        return [self.of(turn.text) for turn in turns]

    def of(self, text: str) -> PartnerReading:
        answer = "30" if "Tom has 30" in text else "9" if self.more in text else None
        return PartnerReading(tells=frozenset("a"), reveals="stated" if answer == "30" else "no", attempt=answer)

    async def student(self, turns):
        return [StudentReading() for _ in turns]


@pytest.mark.parametrize(("line", "stands"), [("", True), ("So it is nine.", False)])
def test_a_shard_that_is_the_answer_stands_and_one_that_answers_does_not(line, stands):
    task = TASK.model_copy(update={"question": "How many pens has Tom?", "answer": "30", "facts": (TASK.facts[0],)})
    at = Sitting(
        experiment=experiment(exams=SIMULATED), student=ScriptedModel(), peer=Simulator(line), seed=1, tasks=(),
        reads=Instrument("told", Told("nine")),
    )  # fmt: skip
    if not stands:
        task = task.model_copy(update={"facts": (task.facts[0].model_copy(update={"text": "Tom has many."}),)})
    assert asyncio.run(played(at, task, 0)).stood == [stands]


def test_a_shard_that_was_told_already_is_not_told_again():
    assert simulated(Simulator("Mia has 5 pens.")).stood == [True, False]


def test_what_follows_the_first_sentence_is_left_out():
    found = simulated(Simulator("Mia has 5 pens. She bought 7 more. Tom has 30 pens."))
    assert found.stood == [True, False] and found.of_mode["sharded"][1].text == "Mia has 5 pens."


def test_a_turn_that_was_cut_short_is_taken_back():
    class Cut(Simulator):
        async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
            return (await super().complete(messages, sampling))._replace(finished=False)

    assert simulated(Cut()).stood == [False, False]


def test_how_often_the_models_words_stood_is_counted_only_where_a_model_tells():
    student, exp = Adder(everything), experiment(exams=SIMULATED)
    at = Sitting(experiment=exp, student=student, peer=Simulator(), seed=1, tasks=(TASK,))
    found = {case.metric: (case.hits, case.n) for case in asyncio.run(sit(at))}
    assert found.keys() == ratios(EXAM, exp) and found["lost_worded"] == (4.0, 4)
    assert len(student.asked) == EXAM.answers(exp, [TASK])
    assert "lost_worded" not in ratios(EXAM, experiment())


def test_an_embedded_base_is_refused_as_the_partner():
    exams = {"include": ["lost"], "lost": {"partner": "model"}}
    with pytest.raises(ValueError, match=r"exams\.lost\.partner: 'model' needs a real model"):
        EXAM.check(experiment(exams=exams, engine={"kind": "transformers"}, student={"model": "embedded"}))

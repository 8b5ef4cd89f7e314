"""How likely the right answer is, turn by turn: of a student to whom a told fact is worth what is known before."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from pydantic import ValidationError

from evals.examining.exam_checks import check_exams
from evals.exams.gold_logprob import EXAM
from evals.sitting.sitting import Sitting
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Message
from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.assignment import exam_tasks
from tests.builders import small_experiment
from tests.fakes import FakeModel

experiment = partial(
    small_experiment,
    tasks={"exam": {"full": 2, "underspecified": 4}},
    exams={"include": ["gold_logprob"], "episodes": 1},
    dialogue={"turns": 3},
)


LOCAL = {"engine": {"kind": "transformers"}}


class Scores(FakeModel):
    """Waits, and finds the right answer likelier by one nat for each missing fact that stands in what it reads."""

    def __init__(self, tasks, says: str = "Go on."):
        super().__init__()
        self.tasks, self.says, self.scored = tasks, says, 0

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        if sampling.scored is None:
            return Completion(self.says, tokens=3, prompt_tokens=9)
        self.scored += 1
        read = " ".join(message["content"] for message in messages)
        task = next(task for task in self.tasks if task.question in read)
        assert tuple(sampling.scored) == ("The answer is", f" {task.answer}.")
        known = sum(fact.text in read for fact in task.missing)
        return Completion("", tokens=0, prompt_tokens=9, score=known - 5.0)


class Stops(Scores):
    """Says that it is done once it has been spoken to."""

    async def complete(self, messages, sampling):
        if sampling.scored is None and any(message["role"] == "assistant" for message in messages):
            return Completion("I am done.", tokens=3, prompt_tokens=9)
        return await super().complete(messages, sampling)


def sat(student: Scores, run) -> dict[str, float]:
    sitting = Sitting(experiment=run, student=student, peer=student, seed=1, tasks=tuple(student.tasks))
    cases = asyncio.run(EXAM.sit(sitting))
    names = {case.metric for case in cases}
    assert names == EXAM.ratios(run, True)
    assert len(sitting.transcripts["gold_logprob"]) == len(asyncio.run(sitting.episodes()))
    of = {name: [case for case in cases if case.metric == name] for name in names}
    return {name: sum(case.hits for case in those) / sum(case.n for case in those) for name, those in of.items()}


def test_a_turn_is_worth_what_the_student_makes_of_the_fact_that_it_tells():
    run = experiment()
    tasks, _ = exam_tasks(run)
    found = sat(Scores(tasks), run)
    missing = [len(task.missing) for task in tasks if task.missing]
    told = sum(missing) / len(missing)  # facts a talk, a nat each
    assert found["turn_worth_under@volunteer"] == pytest.approx(told / (run.exam_turns - 1))
    assert found["turn_worth_under@chatter"] == found["turn_worth_full@verifier"] == 0
    assert found["gold_logprob_under@volunteer"] == pytest.approx(told - 5)
    assert found["gold_logprob_under@chatter"] == found["gold_logprob_under_turn0@volunteer"] == -5
    steps = [found[f"gold_logprob_under_turn{i}@volunteer"] for i in range(run.exam_turns)]
    assert steps == sorted(steps) and steps[-1] == found["gold_logprob_under@volunteer"]


def test_what_the_student_says_itself_is_no_worth_of_the_partners_turns():
    run = experiment()

    class Guesses(Scores):
        """Says an answer, by which its own score falls."""

        async def complete(self, messages, sampling):
            fallen = 4.0 * any("I guess" in message["content"] for message in messages)
            answer = await super().complete(messages, sampling)
            return answer._replace(score=None if answer.score is None else answer.score - fallen)

    found = sat(Guesses(exam_tasks(run)[0], "I guess that it is 3."), run)
    assert found["turn_worth_full@unhelpful"] == found["turn_worth_under@chatter"] == 0
    assert found["gold_logprob_full@unhelpful"] == -9 and found["gold_logprob_full_turn0@unhelpful"] == -5


def test_who_stops_early_keeps_its_last_score():
    run = experiment()
    tasks, _ = exam_tasks(run)
    found = sat(Stops(tasks), run)
    turns = [found[f"gold_logprob_under_turn{i}@volunteer"] for i in range(run.exam_turns)]
    assert turns[0] == -5 and len(set(turns[1:])) == 1 and turns[-1] == found["gold_logprob_under@volunteer"]


def test_a_model_that_gives_no_score_has_failed_to_answer():
    class Mute(Scores):
        async def complete(self, messages, sampling):
            return Completion("Go on.", tokens=3, prompt_tokens=9)

    run = experiment()
    tasks, _ = exam_tasks(run)
    sitting = Sitting(experiment=run, student=Mute(tasks), peer=Mute(tasks), seed=1, tasks=tuple(tasks))
    assert asyncio.run(EXAM.sit(sitting)) == []
    assert len(sitting.errors) == len(asyncio.run(sitting.episodes()))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"engine": {"kind": "scripted"}}, "log-probability of a text"),
        ({"engine": {"kind": "openai", "url": "http://127.0.0.1:9/v1"}}, "log-probability of a text"),
        (LOCAL | {"exams": {"include": ["gold_logprob"], "scaffold": "cqot"}}, "no place for a plan"),
    ],
)
def test_who_cannot_score_is_refused_before_anything_runs(given, said, tmp_path):
    with pytest.raises((ConfigError, ValidationError), match=said):
        check_exams(tmp_path / "a.yaml", experiment(**given))


def test_it_asks_for_no_more_than_it_says():
    run = experiment()
    student = Scores(exam_tasks(run)[0])
    sat(student, run)
    assert student.scored == EXAM.answers(run, student.tasks)

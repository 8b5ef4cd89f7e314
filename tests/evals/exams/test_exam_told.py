"""The check of competence: who reads what it is told passes, who stays with its guess passes one half, or none."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from evals.examining.answers_asked import most_answers
from evals.exams.told import EXAM, WAITING, sit
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Message
from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.assignment import exam_tasks
from tests.builders import small_experiment
from tests.fakes import FakeModel
from training.warmup import NEUTRAL

experiment = partial(
    small_experiment,
    tasks={"exam": {"full": 2, "underspecified": 4}},
    exams={"include": ["told"], "samples": 2, "episodes": 1},
)


class Reader(FakeModel):
    """Guesses first, and answers rightly once every missing fact stands in what it read.

    `stubborn`: not where it has guessed before.
    """

    def __init__(self, tasks, stubborn: bool):
        self.tasks, self.stubborn = tasks, stubborn

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        read = " ".join(message["content"] for message in messages)
        task = next(task for task in self.tasks if task.question in read)
        guessed = self.stubborn and "The answer is" in read
        told = all(fact.text in read for fact in task.missing) and not guessed
        return Completion(f"The answer is {task.answer if told else '-1'}.", tokens=3, prompt_tokens=9)


@pytest.mark.parametrize(("stubborn", "own"), [(False, 1.0), (True, 0.0)])
def test_who_reads_passes_and_who_stays_with_a_guess_fails_after_its_own_turns(stubborn, own):
    run = experiment()
    tasks, _ = exam_tasks(run)
    student = Reader(tasks, stubborn)
    sitting = Sitting(experiment=run, student=student, peer=student, seed=1, tasks=tuple(tasks))
    cases = asyncio.run(sit(sitting))
    for metric, right in (("told_accuracy", 1.0), ("told_accuracy@own", own)):
        mine = [case for case in cases if case.metric == metric]
        assert len(mine) == 4 and sum(case.hits for case in mine) == right * sum(case.n for case in mine)


def test_it_asks_for_no_more_than_it_says():
    run = experiment()
    tasks, _ = exam_tasks(run)
    alone = EXAM.answers(run, tasks)
    assert alone == 2 * 4 and most_answers(run, tasks, 0) > alone


def test_a_warm_up_has_never_seen_the_wordings_of_the_script():
    assert not set(NEUTRAL) & set(WAITING)

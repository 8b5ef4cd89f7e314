"""Partner gone: full problems alone, with students that solve them or do not."""

import asyncio
from functools import partial

import pytest

from evals.examining.answers_asked import most_answers
from evals.exams.alone import EXAM, helped, sit
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Message, Task
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.engines.model import Completion, Sampling
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.assignment import tasks_of
from pipeline.tasks.loading import load_tasks
from tests.builders import small_experiment
from tests.evals.small_exam import ratios
from tests.fakes import FakeModel

FULL = Task(
    id="f",
    source="embedded",
    specification="full",
    question="Tom has 30 pens. Ana has 12 pens. How many pens do Tom and Ana have together?",
    full_question="-",
    answer="42",
)
FALSE = FULL.model_copy(update={"id": "p", "specification": "false_premise"})


experiment = partial(small_experiment, exams={"include": ["alone"], "episodes": 3, "turns": 2})


class Heard(FakeModel):
    """Says its lines in turn, and keeps what was said to it."""

    def __init__(self, *lines):
        self.lines, self.heard = lines, set[str]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.heard |= {message["content"] for message in messages[1:] if message["role"] == "user"}
        return Completion(self.lines[sum(m["role"] == "assistant" for m in messages)], tokens=3, prompt_tokens=9)


def cases(student, **changes):
    return asyncio.run(
        sit(Sitting(experiment=experiment(**changes), student=student, peer=student, seed=1, tasks=(FULL, FALSE)))
    )


@pytest.mark.parametrize(
    ("lines", "right"),
    [
        (("The answer is 42.", "I am done."), 3),
        (("The answer is 9.", "The answer is 42."), 3),
        (("The answer is 42.", "The answer is 9."), 0),
        (("Hm.", "Hm."), 0),
    ],
)
def test_the_last_answer_counts_on_full_tasks_alone(lines, right):
    [case] = cases(Heard(*lines))
    assert (case.task, case.metric, case.hits, case.n) == ("f", "alone_accuracy", right, 3)


def test_nobody_says_anything_of_use():
    student = Heard("Hm.", "Hm.")
    cases(student)
    assert student.heard and student.heard <= set(WORDINGS["exam"]["go_on"])


BOTH = {
    "tasks": {"train": {"full": 8, "underspecified": 8}, "per_condition": 8},
    "conditions": {
        "full": {"partition": "facts", "specifications": ["full"]},
        "under": {"partition": "facts", "specifications": ["underspecified"]},
        "mixed": {"partition": "verifier"},
    },
    "exams": {"include": ["alone"], "episodes": 2, "turns": 2, "helped": 3},
}


def test_help_is_missed_on_whole_problems_that_all_had_with_something_missing():
    exp = experiment(**BOTH)
    tasks, _ = load_tasks(exp.tasks, "train")
    found = helped(exp)
    assert len(found) == 3
    for task in found:
        was = next(one for one in tasks if f"{one.id}-whole" == task.id)
        assert was.missing and not task.missing and task.question == was.full_question and task.answer == was.answer
        assert all(was in tasks_of(exp, name, tasks) for name in ("under", "mixed"))
    cases = asyncio.run(
        sit(Sitting(experiment=exp, student=Heard("Hm.", "Hm."), peer=Heard(), seed=1, tasks=(FULL, FALSE)))
    )
    assert [(case.metric, case.n) for case in cases] == [("alone_accuracy", 2), *[("alone_accuracy@helped", 2)] * 3]
    assert {case.metric for case in cases} == ratios(EXAM, exp)
    assert most_answers(exp, [FULL, FALSE], 0) == (1 + 3) * 2 * 2


def test_without_problems_that_lacked_something_nobody_was_helped():
    only = {"conditions": {"full": BOTH["conditions"]["full"]}}
    assert helped(experiment(**BOTH | only)) == []


def test_it_costs_at_most_every_turn_of_every_episode():
    assert most_answers(experiment(), [FULL, FALSE], 0) == 3 * 2


def test_the_same_seed_gives_the_same_cases():
    assert cases(ScriptedModel()) == cases(ScriptedModel())

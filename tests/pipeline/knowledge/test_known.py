"""What a party takes for the answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.tasks.word_problems import make_task

FALLIBLE = Condition(partition="fallible")


def test_a_fallible_partner_is_right_on_half_of_the_tasks_and_wrong_on_the_others():
    tasks = [make_task(seed, "full") for seed in range(1_000)]
    rights = [known(task, FALLIBLE, "partner").answer == task.answer for task in tasks]
    assert 440 < sum(rights) < 560
    wrong = [task for task, right in zip(tasks, rights, strict=True) if not right]
    assert all(known(task, FALLIBLE, "partner").answer == task.wrong_answer for task in wrong)


@given(st.integers(0, 10_000))
def test_what_a_fallible_partner_believes_hangs_on_the_question_alone(seed):
    task = make_task(seed, "full")
    other = task.model_copy(update={"id": "other", "kind": "other", "full_question": "Another one?"})
    assert known(other, FALLIBLE, "partner") == known(task, FALLIBLE, "partner")


@given(st.integers(0, 10_000))
def test_a_student_of_a_fallible_partner_knows_what_any_student_knows(seed):
    task = make_task(seed, "underspecified")
    assert known(task, FALLIBLE, "student") == known(task, Condition(partition="symmetric"), "student")

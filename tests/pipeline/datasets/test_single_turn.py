"""A monologue is one problem and one solution: what was told stands in the problem, and no talk is left."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipeline.core.schema import Task, Turn
from pipeline.datasets.rows import Row, monologue
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from tests.builders import small_experiment

WORK = "I get it now. The answer is 7."


def talk(task: Task, *lines: str, cut: int = -1) -> Dialogue:
    """The student begins; turn number `cut` has no end."""
    turns = [
        Turn(party=("student", "partner")[i % 2], text=line, finished=i != cut)  # type: ignore[arg-type]
        for i, line in enumerate(lines)
    ]
    return Dialogue(
        id="d", task=task, condition_name="facts", condition=Condition(partition="facts"), seed=1, turns=tuple(turns),
        stop="turn_cap",
    )  # fmt: skip


def row(task: Task, *lines: str, cut: int = -1) -> Row | None:
    return monologue(small_experiment(), talk(task, *lines, cut=cut))


def said(made: Row | None) -> list[str]:
    assert made is not None and [m["role"] for m in made["messages"]] == ["user", "assistant"]
    assert made["learn"] == [False, True]
    return [message["content"] for message in made["messages"]]


def missing(tasks: Sequence[Task], count: int) -> Task:
    return next(task for task in tasks if len(task.missing) == count)


def test_what_was_told_stands_in_the_problem_where_it_belongs(underspecified):
    task = missing(underspecified, 1)
    fact = task.missing[0]
    problem, solution = said(row(task, fact.ask, f"I know this: {fact.text}", WORK, "Okay.", "I am done."))
    assert task.full_question in problem and task.question not in problem
    assert "I know this" not in problem and "Okay" not in problem
    assert solution == WORK


def test_a_fact_stands_behind_the_question_while_another_is_left_to_tell(underspecified):
    task = missing(underspecified, 2)
    fact, other = task.missing
    problem, _ = said(row(task, fact.ask, fact.text, WORK))
    assert f"{task.question} {fact.text}" in problem and other.text not in problem


def test_what_the_partner_told_after_the_answer_is_not_in_the_problem(underspecified):
    task = missing(underspecified, 1)
    problem, solution = said(row(task, WORK, task.missing[0].text, "I am done."))
    assert task.question in problem and task.missing[0].text not in problem
    assert solution == WORK


def test_of_a_full_task_no_hidden_sentence_reaches_the_problem(full):
    task = next(task for task in full if any(not fact.public for fact in task.facts))
    problem, _ = said(row(task, WORK, "Okay.", "I am done."))
    assert task.question in problem
    assert not any(fact.text in problem for fact in task.facts if not fact.public)


def test_the_solution_is_work_and_answers_and_no_talk_about_them(underspecified):
    task = missing(underspecified, 1)
    made = row(
        task, "I guess the answer is 3.", "Okay.", "I cannot tell.", "Go on.", "I get 3 + 4 = 7.", "Go on.",
        "The answer is 7.", "Okay.", "I still say the answer is 7.",
    )  # fmt: skip
    assert said(made)[1] == "I guess the answer is 3. I get 3 + 4 = 7. The answer is 7."


@pytest.mark.parametrize("lines", [("How many?", "I cannot say.", "I am done."), ("I get 3 + 4 = 7.",)])
def test_without_an_answer_there_is_no_monologue(underspecified, lines):
    assert row(underspecified[0], *lines) is None


def test_a_cut_solution_and_a_fact_told_wrongly_give_no_monologue(underspecified):
    task = missing(underspecified, 1)
    assert row(task, WORK, "Okay.", "I am do", cut=2) is not None
    assert row(task, "How many?", "I cannot say.", WORK, cut=2) is None
    fact = task.missing[0]
    number = next(word for word in fact.text.split() if word.isdigit())
    wrong = fact.text.replace(number, str(int(number) + 1))
    assert row(task, fact.ask, wrong, WORK) is None


def test_a_student_whose_problem_is_its_share_has_no_monologue():
    conditions = {"j": {"partition": "jigsaw"}, "m": {"partition": "jigsaw", "method": "monologue", "learns_from": "j"}}
    with pytest.raises(ValueError, match="the student's problem is its share"):
        small_experiment(conditions=conditions)

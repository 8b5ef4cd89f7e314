"""Rows of a warm-up that show how each kind of answer is used, and no way of asking above another: hidden items alone.

`used_answer`. A task stands in as many rows as there are ways of getting at more. In each the student's first turn is
one of them and carries no loss: an open question, a closed one, a request for the next step, an option that is tried.
The rule partner that holds what is needed answers, in wordings of training: facts, yes or no, a hint, a verdict. Loss
is on the last turn alone, in which the student names an option that fits all that it was told, and never the one just
refused.

So each way stands before the same tasks, full and underspecified, equally often. An open question is for one of the
needed attributes, whether it stands there or not. Of the closed ones half are of a value, half of two options; half
are answered with yes. Half of the options that are tried are right.

`first_turn`, for rows under the sampling prompt. A small pretrained base hardly asks there what a partner could answer,
and after a warm-up asks nothing at all. So a low rate is planted, the same for an open question, a closed one and a
request for the next step, and the same on full tasks as on underspecified ones: which to take, and when, is in no row.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from pipeline.core.schema import Task, Turn
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known, verdict
from pipeline.reading.choices.read_choice import NEXT_STEP
from pipeline.reading.stored import partner_reading, student_reading
from training.hidden_item.item_student import ItemStudent, whether

Option = tuple[str, ...]
ASKS = 10  # of so many first turns each way of asking is one
KINDS = 4  # of tasks: what is asked of a value or of two options, and what comes out as it is or as it is not


def _closed(student: ItemStudent, number: int) -> str:
    """Decided by the item: yes in two numbers of four, of a value in two of four."""
    item, others = _apart(student)
    other, another = student.rng.sample(others, 2)
    if number % 2:
        pair = [student.choice.name(item if _holds(number) else another), student.choice.name(other)]
        return whether(*student.rng.sample(pair, 2))
    asked, against = (item, other) if _holds(number) else (other, item)
    return whether(student.rng.choice([value for value in asked if value not in against]))


def _tried(student: ItemStudent, number: int) -> str:
    item, others = _apart(student)
    return f"The answer is {student.choice.name(item if _holds(number) else student.rng.choice(others))}."


def _holds(number: int) -> bool:
    return number % KINDS < KINDS // 2


def _apart(student: ItemStudent) -> tuple[Option, list[Option]]:
    """The item, and options that it is not: of those that are left, where these are more than two."""
    name, left = student.choice.name, student.left if len(student.left) > 2 else student.choice.options
    item = next(option for option in student.choice.options if name(option) == student.task.answer)
    return item, [option for option in left if option != item]


# Each way with the knowledge that answers it.
WAYS: dict[str, tuple[Callable[[ItemStudent, int], str], Condition]] = {
    "open": (lambda student, _: student.ask(), Condition(partition="facts")),
    "closed": (_closed, Condition(partition="answer")),
    "step": (lambda *_: NEXT_STEP, Condition(partition="key")),
    "tried": (_tried, Condition(partition="verifier")),
}


def used_answer(task: Task, number: int, way: str) -> list[Turn]:
    """Three turns: the student asks or tries, is answered, and names an option. `number`: of the task among those of
    its specification, which decides what is asked."""
    asks, condition = WAYS[way]
    rng = random.Random(f"used-{way}-{task.id}")
    student = ItemStudent(task, condition, "student", rng)
    turns = [Turn(party="student", text=asks(student, number))]
    reply = rule_reply(known(task, condition, "partner"), condition, turns, verdict(task, condition, turns), rng)
    turns.append(Turn(party="partner", text=reply.text))
    does, says = student_reading(task, turns, 0), partner_reading(task, turns, 1)
    student.learn(does.whether, says)
    if says.feedback == "right":
        return [*turns, Turn(party="student", text=turns[0].text)]
    return [*turns, Turn(party="student", text=student.put_forward(but=does.attempt or ""))]


def first_turn(task: Task, number: int) -> list[Turn]:
    """A way of asking in three of ten numbers of tasks, and else what it knows and an option that fits."""
    student = ItemStudent(task, Condition(partition="symmetric"), "student", random.Random(f"first-{task.id}"))
    asking = (student.ask, student.ask_whether, lambda: NEXT_STEP)
    says = asking[number % ASKS] if number % ASKS < len(asking) else student.put_forward
    return [Turn(party="student", text=says())]

"""Scripted students at the exam of common ground: one follows what is said, one keeps what it said first.

They know the problems' worked solutions by heart, and nothing of how they are scored: a new number is put into the
solution's sums, and a new goal is counted from the answer that they have said themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from evals.exams.common_ground.grounds import FLOOR, Ground
from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message, Task
from pipeline.engines.model import Sampling

_STEP = re.compile(r"(\d+) ([-+x]) (\d+) = ")
_GOAL = re.compile(r"to make (\d+)\?")


class Listener(Scripted):
    """Answers what was said last."""

    def __init__(self, problems: list[Ground]):
        self.problems = problems

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        heard = [message["content"] for message in messages if message["role"] == "user"]
        own = [message["content"] for message in messages if message["role"] == "assistant"]
        ground = next(ground for ground in self.problems if ground.task.question in heard[0])
        return self.answer(ground, heard, own)

    def answer(self, ground: Ground, heard: list[str], own: list[str]) -> str:
        if len(heard) == 1:
            return "I cannot tell."
        if heard[-1] in FLOOR:
            return "May we look at a harder problem?"
        if new := _posed(self.problems, heard[-1]):
            return f"All right. The answer is {solved(new)}."
        if told := re.search(re.sub(r"\\?\d+", r"(\\d+)", re.escape(ground.told.text)), heard[-1]):
            at = [fact.id for fact in ground.task.facts if fact.needed].index(ground.told.id)
            return f"I see. So {told[0]} The answer is {solved(ground.task, at, int(told[1]))}."
        before = int(re.findall(r"\d+", own[-1])[-1])
        goal = _GOAL.search(heard[-1])
        return f"Okay. The answer is {int(goal[1]) - before if goal else before}."


def _posed(problems: list[Ground], text: str) -> Task | None:
    return next((ground.task for ground in problems if ground.task.full_question in text), None)


def solved(task: Task, at: int = 0, number: int | None = None) -> int:
    """The result of the worked solution, with another number for the needed fact at a place."""
    steps = _STEP.findall(task.solution)
    operands = [int(steps[0][0]), *(int(other) for _, _, other in steps)]
    if number is not None:
        operands[at] = number
    total = operands[0]
    for (_, sign, _), other in zip(steps, operands[1:], strict=True):
        total = {"+": total + other, "-": total - other, "x": total * other}[sign]
    return total


class Keeper(Listener):
    """Gives the first answer that it had, whatever is said."""

    def answer(self, ground: Ground, heard: list[str], own: list[str]) -> str:
        return "I cannot tell." if len(heard) == 1 else f"The answer is {solved(ground.task)}."


LISTENERS: dict[str, Callable[[list[Ground]], Listener]] = {"listener": Listener, "keeper": Keeper}

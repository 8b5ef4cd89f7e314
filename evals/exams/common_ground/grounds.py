"""Embedded problems that lack one fact, and what a partner by rule may say once it has told that fact."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from pipeline.core.schema import Fact, Task
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.word_problems import KINDS, TOP, arithmetic, embedded_tasks

OWN = 60  # problems to choose from where the config's tasks are not of the embedded world
CORRECTION = ("Sorry, I was wrong. {}", "Let me correct that. {}")
PIVOT = "Now something else. How many more would be needed to make {}?"
TOPIC = "Leave that now, here is another problem. {}"
FLOOR = ("That is settled. What would you like to look at next?", "I have nothing more on that. Over to you.")


class Ground(NamedTuple):
    """A problem that lacks one fact, and what may be said after that fact was told."""

    task: Task
    told: Fact
    revised: Fact  # the same with another number
    answer: str  # that follows from the revised fact
    target: int  # of the pivot; what is missing to it is the pivot's answer
    other: Task  # the problem that the topic changes to


def grounds(experiment: Experiment, tasks: Iterable[Task]) -> list[Ground]:
    """Of the easy embedded exam problems those that lack one fact; made for the exam where the tasks are others."""
    if experiment.source.name != "embedded":
        tasks = list(islice(embedded_tasks("exam", "underspecified", experiment.tasks.seed), OWN))
    lacking = [task for task in tasks if len(task.missing) == 1 and task.stratum == "easy"]
    made = [_ground(task, lacking[i - 1]) for i, task in enumerate(lacking)] if len(lacking) > 1 else []
    return [ground for ground in made if ground is not None]


def _ground(task: Task, other: Task) -> Ground | None:
    """None where no other number of the told fact has an answer of its own above 0."""
    told, rng = task.missing[0], random.Random(f"ground-{task.id}")
    needed = [fact for fact in task.facts if fact.needed]
    numbers = [_number(fact) for fact in needed]
    at = [fact.id for fact in needed].index(told.id)
    answers = {
        number: arithmetic([*numbers[:at], number, *numbers[at + 1 :]], KINDS[task.kind][2])[1]
        for number in range(10, TOP + 1)
        if number != _number(told)
    }
    fit = {number: answer for number, answer in answers.items() if answer > 0 and str(answer) != task.answer}
    if not fit:
        return None
    while (number := rng.randint(10, TOP)) not in fit:
        pass
    revised = told.model_copy(update={"text": re.sub(r"\d+", str(number), told.text)})
    return Ground(
        task=task,
        told=told,
        revised=revised,
        answer=str(fit[number]),
        target=int(task.answer) + rng.randint(11, TOP),
        other=other,
    )


def _number(fact: Fact) -> int:
    return int(re.sub(r"\D", "", fact.text))


def wordings(ground: Ground, rng: random.Random) -> dict[str, str]:
    """What the partner says in each arm."""
    return {
        "corrected": rng.choice(CORRECTION).format(ground.revised.text),
        "null": rng.choice(WORDINGS["exam"]["go_on"]),
        "pivot": PIVOT.format(ground.target),
        "topic": TOPIC.format(ground.other.full_question),
        "floor": rng.choice(FLOOR),
    }


def expected(ground: Ground, arm: str) -> str:
    """The answer that follows from what was said last."""
    if arm == "pivot":
        return str(ground.target - int(ground.task.answer))
    return {"corrected": ground.answer, "topic": ground.other.answer}.get(arm, ground.task.answer)


def posed(ground: Ground, arm: str) -> Task:
    """The problem as it stands after what was said last, with its answer: what a turn that follows is about."""
    task, answer = ground.task, expected(ground, arm)
    if arm == "corrected":
        facts = tuple(ground.revised if fact.id == ground.told.id else fact for fact in task.facts)
        return task.model_copy(update={"facts": facts, "answer": answer})
    if arm == "topic":
        return ground.other.model_copy(update={"question": ground.other.full_question})
    if arm == "pivot":
        return task.model_copy(update={"question": PIVOT.format(ground.target), "answer": answer})
    return task

"""What an expert says in the student's seat: what method `expert` learns, and where `grpo_step` begins.

With a partner that holds a worked solution it says a step a turn (Deng et al., arXiv 2510.25992). With one that tells
withheld facts on request it asks for what is missing, a fact a turn, and then works the task out; where nothing is
missing it does so at once. It knows from the task what is missing. So its students show whether a base can learn when
to ask, shown each time; they say nothing of what a partner teaches.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Iterable

from pipeline.core.schema import Choice, Fact, Task, Turn
from pipeline.dialogue.q_priming import by_id, question_for
from pipeline.dialogue.rule_partner import WORDINGS
from pipeline.knowledge.condition import Condition

GO_ON = WORDINGS["train"]["go_on"][0]  # between an expert's steps, where the source has no sub-questions


def expert_talk(task: Task, condition: Condition) -> list[Turn]:
    """Its whole dialogue, up to the turn that answers."""
    if condition.row.holds_solution:
        return [*expert_turns(task, len(task.steps)), Turn(party="student", text=task.steps[-1].text)]
    told = told_first(by_id(task.missing), random.Random(f"expert-{task.id}"), question_for)
    return [*told, Turn(party="student", text=worked_out(task))]


def expert_turns(task: Task, steps: int) -> list[Turn]:
    """A dialogue in which the student has said so many of the expert's steps, and its partner asks for the next."""
    return [
        turn
        for done, following in itertools.pairwise(task.steps[: steps + 1])
        for turn in (
            Turn(party="student", text=done.text),
            Turn(party="partner", text=following.question or GO_ON),
        )
    ]


def told_first(facts: Iterable[Fact], rng: random.Random, before: Callable[[Fact], str]) -> list[Turn]:
    """The partner tells the facts, one a turn; `before` is what the student says before it is told one."""
    turns = list[Turn]()
    for fact in facts:
        told = rng.choice(WORDINGS["train"]["tell"]).format(fact.text)
        turns += [Turn(party="student", text=before(fact)), Turn(party="partner", text=told)]
    return turns


def worked_out(task: Task) -> str:
    """How an expert answers it, in one turn: its steps, where the source has some. Of options it says what is known of
    the right one; steps that name all that are left would be longer than a turn."""
    if task.choice:
        known = known_aloud(task.choice, {fact.value for fact in task.facts if fact.value})
        return f"{known}The answer is {task.answer}."
    following = itertools.zip_longest(task.steps, task.steps[1:])
    # A step of the embedded world says all that came before it again.
    said = [step.text for step, later in following if not (later and later.text.startswith(step.text))]
    unread = [fact.text for fact in by_id(task.missing) if not any(fact.text in text for text in said)]
    return " ".join([*unread, *said]) if said else f"The answer is {task.answer}."


def known_aloud(choice: Choice, has: Collection[str], said_no: Collection[str] = ()) -> str:
    """What is known of the item and of nothing else, in the order of English."""
    known = sorted(has, key=lambda value: choice.attribute(value) or 0)
    return "".join([f"It is {value}. " for value in known] + [f"It is not {value}. " for value in said_no])

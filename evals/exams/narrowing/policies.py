"""Students by script that play hidden items as well as one kind of help allows, and one that guesses.

Each knows what the student is told, concludes all that follows, and gets at more in its own way alone. A script that
has found the item, or has its last turn, puts an option forward; of those that are left each is as likely as the other.

    python -m evals.exams.narrowing.oracles     # what each reaches with each partner
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from evals.exams.narrowing.exchanges import Exchange, Option, exchanges, options_left
from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message, Task, Turn
from pipeline.engines.model import Sampling
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import Known, known
from pipeline.reading.choices.read_choice import NEXT_STEP

LEAVES = "I am done."


class Seen(NamedTuple):
    """What a script goes by: what is left, in an order of its own, and what was said. `last`: no turn follows."""

    task: Task
    left: list[Option]
    said: list[Exchange]
    turns: Sequence[Turn]
    last: bool

    def name(self, option: Option) -> str:
        assert self.task.choice is not None
        return self.task.choice.name(option)

    @property
    def tried(self) -> set[str]:
        return {each.does.attempt for each in self.said if each.does.attempt}


def guesses(seen: Seen) -> str:
    """One honest guess, and no more: the floor."""
    return f"The answer is {seen.name(seen.left[0])}. {LEAVES}"


def asks(seen: Seen) -> str:
    """Open questions for the attribute that tells most of the options that are left apart."""
    choice = seen.task.choice
    assert choice is not None
    if len(seen.left) == 1 or seen.last:
        return guesses(seen)
    asked = {turn.text for turn in seen.turns}
    by_attribute = {
        choice.attributes[i]: len({option[i] for option in seen.left}) for i in range(len(choice.attributes))
    }
    of_item = [fact for fact in seen.task.facts if fact.value and fact.ask not in asked]
    wanted = [(by_attribute[choice.attributes[choice.attribute(fact.value) or 0]], fact.ask) for fact in of_item]
    most, question = max(wanted, default=(0, ""))
    return question if most > 1 else guesses(seen)


def halves(seen: Seen) -> str:
    """Closed questions for half of the options that are left, the larger one; of two it tries one."""
    if len(seen.left) < 3 or seen.last:
        return guesses(seen).removesuffix(f" {LEAVES}") if len(seen.left) == 2 and not seen.last else guesses(seen)
    *first, last = map(seen.name, seen.left[: (len(seen.left) + 1) // 2])
    return f"Is it {', '.join(first)} or {last}?"


def tries(seen: Seen) -> str:
    """One option after the other, none of them twice."""
    new = [option for option in seen.left if seen.name(option) not in seen.tried]
    return f"The answer is {seen.name((new or seen.left)[0])}."


def steps(seen: Seen) -> str:
    """Asks for the next step of a solution, and follows it."""
    return guesses(seen) if len(seen.left) == 1 or seen.last else NEXT_STEP


def yields(seen: Seen) -> str:
    """Guesses, and takes over whatever the partner claims."""
    claims = [each.says.attempt for each in seen.said if each.says is not None and each.says.attempt]
    if claims:
        return f"The answer is {claims[-1]}. {LEAVES}"
    return f"The answer is {seen.name(seen.left[0])}." if not seen.said else LEAVES


def doubts(seen: Seen) -> str:
    """Asks of one value, and takes the answer for false: with no for an answer it is one of these, with yes none."""
    choice, before = seen.task.choice, sorted(seen.said[0].before) if seen.said else seen.left
    assert choice is not None
    parting = [value for value in sorted({*sum(before, ())}) if 0 < sum(value in o for o in before) < len(before)]
    if not parting or seen.last:
        return guesses(seen)
    if not seen.said:
        return f"Is it {parting[0]}?"
    says = seen.said[0].says
    if says is None or says.confirms == "none":
        return guesses(seen)
    there = [option for option in before if choice.fits(option, {parting[0]}) == (says.confirms == "no")]
    return guesses(seen._replace(left=there))


POLICIES: dict[str, Callable[[Seen], str]] = {
    "guesses": guesses,
    "asks": asks,
    "halves": halves,
    "tries": tries,
    "steps": steps,
    "yields": yields,
    "doubts": doubts,
}
# The best that a student can do with each partner, and the knowledge of which another one has no use.
BEST = {
    "solo": "guesses",
    "symmetric": "guesses",
    "misled": "doubts",
    "verifier": "tries",
    "answer": "halves",
    "key": "steps",
    "facts": "asks",
    "jigsaw": "asks",
}


class Scripts(Scripted):
    """A policy on some tasks, in the student's seat of a condition, for dialogues of so many turns."""

    def __init__(self, policy: str, tasks: Iterable[Task], turns: int, condition: Condition):
        self.policy, self.most = POLICIES[policy], turns
        self.tasks: list[tuple[Known, Task]] = [(known(task, condition, "student"), task) for task in tasks]

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        opening = next(message["content"] for message in messages if message["role"] == "user")
        knows, task = next((knows, task) for knows, task in self.tasks if knows.question in opening)
        begun = messages.index({"role": "user", "content": opening})
        turns = [
            Turn(party="student" if message["role"] == "assistant" else "partner", text=message["content"])
            for message in messages[begun + 1 :]
        ]
        # Read as the embedded world's language is: both sides are by script.
        said = exchanges(task, knows.facts, turns)
        left = sorted(said[-1].after if said else options_left(task, knows.facts))
        random.Random(knows.question).shuffle(left)
        return self.policy(Seen(task, left, said, turns, last=len(said) + 1 >= self.most))

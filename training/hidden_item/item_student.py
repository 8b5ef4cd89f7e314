"""What follows for a student of hidden items from what it is told, and the turns in which it asks and answers.

The embedded base is made with these turns, and so is the warm-up of a real one (training/hidden_item/ways.py). Which
of them is said when is decided there.
"""

from __future__ import annotations

import random

from pipeline.core.readings import PartnerReading
from pipeline.core.schema import Party, Task
from pipeline.dialogue.expert import known_aloud
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known


class ItemStudent:
    """Goes by what it was told and nothing else."""

    def __init__(self, task: Task, condition: Condition, party: Party, rng: random.Random):
        assert task.choice is not None
        self.task, self.choice, self.rng = task, task.choice, rng
        self.knows = known(task, condition, party)
        told = [fact for fact in self.knows.facts if fact.public or self.knows.share]
        self.has = {fact.value for fact in told if fact.value}
        self.left = [option for option in self.choice.options if self.choice.fits(option, self.has)]
        self.said_no = list[str]()  # values that it does not have
        self.answer = ""

    def ask(self) -> str:
        """For one of the needed attributes, whether it stands there or not."""
        needed = [self.choice.attribute(fact.value) or 0 for fact in self.task.facts if fact.value and fact.needed]
        return f"What {self.choice.attributes[self.rng.choice(needed)]} is it?"

    def ask_whether(self) -> str:
        """Of a value that one of the options left has, or of two of them."""
        if self.rng.random() < 0.5 and len(self.left) > 1:
            return whether(*map(self.choice.name, self.rng.sample(self.left, 2)))
        return whether(self.rng.choice(self.rng.choice(self.left)))

    def put_forward(self, but: str = "") -> str:
        """One of the options that are left, each as likely, and not `but` where there is another."""
        names = [name for option in self.left if (name := self.choice.name(option)) != but]
        self.answer = self.rng.choice(names or [but])
        return f"{self.aloud()}The answer is {self.answer}."

    def aloud(self) -> str:
        """What it says before its answer."""
        return known_aloud(self.choice, self.has, self.said_no)

    def learn(self, whether: frozenset[str], says: PartnerReading) -> bool:
        """What follows from what the partner said to a turn that asked `whether`; whether that is anything new."""
        before, known = len(self.left), len(self.has)
        self.has |= {fact.value for fact in self.task.facts if fact.id in says.tells and fact.value}
        left = [option for option in self.left if self.choice.fits(option, self.has)]
        if whether and says.confirms != "none":
            left = [option for option in left if self.choice.fits(option, whether) == (says.confirms == "yes")]
            values = [word for word in whether if self.choice.attribute(word) is not None]
            if says.confirms == "yes":
                self.has |= set(values)
            else:
                self.said_no += values
        self.left = left or self.left
        return len(self.left) < before or len(self.has) > known


def whether(*words: str) -> str:
    """A closed question, of a value or of options."""
    return f"Is it {' or '.join(words)}?"

"""Students by script at the bandits, whose learning rates are known before any model plays."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace

from scipy.special import expit

from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message
from pipeline.engines.model import Sampling

_ROUND = re.compile(
    r"Round \d+: (you chose|your partner picked) machine (\w)\. It paid (1 dollar|nothing)\."
    r"(?: Machine (\w) would have paid (1 dollar|nothing)\.)?"
)
_MACHINES = re.compile(r"choose, (\w) or (\w)\?")


@dataclass(frozen=True)
class Learner(Scripted):
    """Learns by Rescorla and Wagner's rule from what it is told, and chooses by a logistic rule, or by habit."""

    paid: float  # alpha+ of its own choices
    unpaid: float  # alpha-
    beta: float
    watched_paid: float = 0.0  # of the partner's picks
    watched_unpaid: float = 0.0
    left_paid: float = 0.0  # of what it did not choose, where it is told what that would have paid
    left_unpaid: float = 0.0
    habit: float = 0.0  # how far it leans to what it chose last

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        told = messages[-1]["content"]
        asked = _MACHINES.search(told)
        assert asked is not None  # whoever seats it asks for one of two machines
        value = {asked[1]: 0.5, asked[2]: 0.5}
        last = {asked[1]: 0.0, asked[2]: 0.0}
        for who, machine, pay, left, left_pay in _ROUND.findall(told):
            own, won = who == "you chose", pay != "nothing"
            rate = (self.paid if won else self.unpaid) if own else (self.watched_paid if won else self.watched_unpaid)
            value[machine] += rate * (won - value[machine])
            if left:
                would = left_pay != "nothing"
                value[left] += (self.left_paid if would else self.left_unpaid) * (would - value[left])
            last = {name: float(name == machine) for name in last} if own else last
        leaning = self.beta * (value[asked[1]] - value[asked[2]]) + self.habit * (last[asked[1]] - last[asked[2]])
        first = expit(leaning)
        return asked[1] if random.Random(sampling.seed).random() < first else asked[2]


ALIKE = Learner(paid=0.4, unpaid=0.4, beta=6.0, watched_paid=0.4, watched_unpaid=0.4, left_paid=0.4, left_unpaid=0.4)
LEARNERS = {
    "learns from what pays": replace(ALIKE, paid=0.6, unpaid=0.2),
    "learns from what confirms": replace(ALIKE, paid=0.6, unpaid=0.2, left_paid=0.2, left_unpaid=0.6),
    "learns alike from both": ALIKE,
    "the same, by habit": replace(ALIKE, habit=1.5),
    "chooses by lot": Learner(paid=0.5, unpaid=0.5, beta=0.0),
}

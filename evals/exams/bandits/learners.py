"""Students by script at the bandits, whose learning rates are known before any model plays."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from scipy.special import expit

from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message
from pipeline.engines.model import Sampling

_ROUND = re.compile(r"Round \d+: (you chose|your partner picked) machine (\w)\. It paid (1 dollar|nothing)\.")
_MACHINES = re.compile(r"choose, (\w) or (\w)\?")


@dataclass(frozen=True)
class Learner(Scripted):
    """Learns by Rescorla and Wagner's rule from what it is told, and chooses by a logistic rule, or by habit."""

    paid: float  # alpha+ of its own choices
    unpaid: float  # alpha-
    beta: float
    watched_paid: float = 0.0  # of the partner's picks
    watched_unpaid: float = 0.0
    habit: float = 0.0  # how far it leans to what it chose last

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        told = messages[-1]["content"]
        asked = _MACHINES.search(told)
        assert asked is not None  # whoever seats it asks for one of two machines
        value = {asked[1]: 0.5, asked[2]: 0.5}
        last = {asked[1]: 0.0, asked[2]: 0.0}
        for who, machine, pay in _ROUND.findall(told):
            own, won = who == "you chose", pay != "nothing"
            rate = (self.paid if won else self.unpaid) if own else (self.watched_paid if won else self.watched_unpaid)
            value[machine] += rate * (won - value[machine])
            last = {name: float(name == machine) for name in last} if own else last
        leaning = self.beta * (value[asked[1]] - value[asked[2]]) + self.habit * (last[asked[1]] - last[asked[2]])
        first = expit(leaning)
        return asked[1] if random.Random(sampling.seed).random() < first else asked[2]


LEARNERS = {
    "learns from what pays": Learner(paid=0.6, unpaid=0.2, beta=6.0, watched_paid=0.4, watched_unpaid=0.4),
    "learns alike from both": Learner(paid=0.4, unpaid=0.4, beta=6.0, watched_paid=0.4, watched_unpaid=0.4),
    "the same, by habit": Learner(paid=0.4, unpaid=0.4, beta=6.0, watched_paid=0.4, watched_unpaid=0.4, habit=1.5),
    "chooses by lot": Learner(paid=0.5, unpaid=0.5, beta=0.0),
}

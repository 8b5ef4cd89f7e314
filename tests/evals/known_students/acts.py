"""What a known student does next, as acts with probabilities: the server draws one, the truth sums over all.

A student is a record of rates. What it does in a turn depends on what it can see (a Scene) and on these rates alone, so
the probability of every talk follows from them, whatever words the talk is held in (truth.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Chances = dict["Act", float]


class Act(NamedTuple):
    """One turn. `value` says what its number is: right, wrong, guess, another, own (what it
    believes), claimed (by the other), standing (what it said before); '' where it has none."""

    kind: str  # of a turn: one of the keys of wordings.yaml
    value: str = ""
    public: bool = False  # of ask: for a fact that the question states


class Scene(NamedTuple):
    """What decides the next turn."""

    missing: int  # needed facts that it has not heard
    standing: str = ""  # the value of its own latest answer; '' where it has given none
    heard: str = ""  # the partner's last turn: '' (nothing that counts), passed, failed, imposed (an answer, a verdict)
    news: bool = False  # a missing fact was told since that answer
    solves: bool = True  # it can work the problem out, once it knows all
    impossible: bool = False  # the problem has no answer


@dataclass(frozen=True, kw_only=True)
class Student:
    """Rates between 0 and 1. What they leave is thinking aloud where a fact is missing, and an attempt elsewhere."""

    # While a needed fact is missing and it has not answered, in each turn:
    ask: float = 0.0  # asks for one that is missing
    generic: float = 0.0  # asks in general terms
    guess: float = 0.0  # commits to a wrong answer
    # While nothing is missing and it has not answered, in each turn:
    needless_ask: float = 0.0  # asks for a fact that the question states
    needless_generic: float = 0.0
    needless_other: float = 0.0  # asks something that is no fact
    # Answers:
    right: float = 1.0  # share of problems that it can solve
    tentative: float = 0.0  # of its first answers, worded as such
    keeps_guess: float = 0.0  # says its guess again though it was told what was missing
    done: float = 1.0  # says that it is done, after an answer to which nothing new was said; else it says it again
    mends: float = 0.0  # has the right answer after a verdict on a wrong one
    luck: float = 0.0  # has it, in its next turn, after no verdict
    # A claim of another answer:
    converts: float = 0.0  # right before: takes the wrong answer over, in private, too
    complies: float = 0.0  # right before: agrees in words alone
    differs: float = 0.0  # right before: does not agree, says a third answer, and is unmoved in private
    objects: float = 0.0  # right before: disagrees without an answer
    helped: float = 0.0  # wrong before: takes the right answer over
    # Private beliefs after a content-free turn:
    wavers: float = 0.0  # right before, wrong after
    recovers: float = 0.0  # wrong before, right after
    doubts: float = 0.0  # right before, wrong after a check that passed
    # False premises:
    rejects: float = 0.0
    accommodates: float = 0.0  # answers with a number; what is left thinks aloud
    reads: float = 1.0  # tells a fact that stands in the question when it is asked for it
    # Told something new once it has answered (a correction, another goal, another problem), or given the floor:
    follows: float = 0.0  # answers what was said last
    opens: float = 0.0  # opens something new
    # Asked for its solution again, after a wrong one:
    fidgets: float = 0.0  # changes some step, told nothing
    redoes: float = 0.0  # the same, told that it is wrong
    goes: float = 0.0  # changes the step that it is told
    uses: float = 0.0  # mends the step, and the answer, told what is wrong there
    # Decisions on a problem that are drawn once for all samples of it; the others are drawn anew each time.
    alike: float = 0.0

    def turn(self, scene: Scene) -> Chances:
        """What it says next, with its probability; the probabilities sum to 1."""
        own = "right" if scene.solves else "wrong"
        if scene.heard == "passed":
            return {Act("done"): 1.0}
        if scene.standing:
            return self._after_an_answer(scene, own)
        if scene.impossible:
            return rest(
                Act("think"), {Act("reject", "right"): self.rejects, Act("attempt", "wrong"): self.accommodates}
            )
        if scene.missing:
            asks = {Act("ask"): self.ask, Act("generic"): self.generic}
            return rest(Act("think"), {**asks, **self._answers(self.guess, "guess")})
        asks = {
            Act("ask", public=True): self.needless_ask,
            Act("generic"): self.needless_generic,
            Act("other"): self.needless_other,
        }
        return {**asks, **self._answers(1 - sum(asks.values()), own)}

    def _answers(self, chance: float, value: str) -> Chances:
        return {
            Act("attempt", value): chance * (1 - self.tentative),
            Act("tentative", value): chance * self.tentative,
        }

    def _after_an_answer(self, scene: Scene, own: str) -> Chances:
        again = Act("again", "standing")
        if scene.news and not scene.missing:
            return rest(Act("revise", own), {again: self.keeps_guess})
        if scene.heard == "failed":
            return rest(again, {Act("revise", "right"): self.mends})
        lucky = self.luck if scene.standing == "wrong" and not scene.impossible else 0.0
        return rest(again, {Act("revise", "right"): lucky, Act("done"): (1 - lucky) * self.done})

    def reply(self, right: bool, claim_right: bool) -> Chances:
        """What it says to a claim of another answer than it believes. Accepting says nothing yet of what it believes
        then (`converted`)."""
        if right:
            accepts = {Act("accept", "claimed"): self.converts + self.complies}
            others = {Act("hold", "another"): self.differs, Act("object"): self.objects}
            return rest(Act("hold", "own"), {**accepts, **others})
        return rest(Act("hold", "own"), {Act("accept", "claimed"): self.helped if claim_right else self.converts})

    def converted(self, right: bool) -> float:
        """The share of the claims accepted in words that it then believes."""
        accepts = self.converts + self.complies
        return self.converts / accepts if right and accepts else 1.0


def rest(act: Act, chances: Chances) -> Chances:
    """The chances, and that of the act that takes what they leave."""
    return {**chances, act: chances.get(act, 0.0) + 1 - sum(chances.values())}

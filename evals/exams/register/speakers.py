"""Scripted students at the exam of register: what they change and what they keep is known."""

from __future__ import annotations

from evals.exams.register.styles import STYLES
from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message
from pipeline.engines.model import Sampling


class Frozen(Scripted):
    """Says the same whatever it is asked."""

    ANSWER = 12

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        return f"The two numbers together give it. The answer is {self.ANSWER}."


class Chameleon(Frozen):
    """Speaks as it was last asked to, and keeps its answer."""

    SAYS = {
        "formal": "We therefore obtain the sum. The answer is {}.",
        "casual": "Hey, that's the sum, yeah. The answer is {}.",
        "brief": "The answer is {}.",
        "you": "You add your two numbers. The answer is {}.",
        "we": "Let us add our two numbers. The answer is {}.",
        "sailor": "Aye, captain, add the two. The answer is {}.",
    }

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        requests = {style.request: name for name, style in STYLES.items()}
        asked = [requests[m["content"]] for m in messages if m["content"] in requests]
        return self.SAYS[asked[-1]].format(self.answer(bool(asked))) if asked else super().say(messages, sampling)

    def answer(self, asked: bool) -> int:
        return self.ANSWER


class Flighty(Chameleon):
    """Changes its answer with its style."""

    def answer(self, asked: bool) -> int:
        return self.ANSWER + asked


class Actor(Chameleon):
    """A chameleon that no longer says "the answer is" when it speaks in another style."""

    SAYS = {
        "formal": "Together they consequently possess {} items.",
        "casual": "Yeah, that's {}!",
        "brief": "So {}!",
        "you": "You and your friend have {} of them.",
        "we": "We have {} of them together.",
        "sailor": "Aye, that be {} in all, matey!",
    }


class FlightyActor(Actor, Flighty):
    """Changes its answer with its style, and says that in its own words, too."""


SPEAKERS = {
    "chameleon": Chameleon(),
    "chameleon with words of its own": Actor(),
    "frozen student": Frozen(),
    "student whose answer goes with its style": Flighty(),
    "student whose answer goes, in words of its own": FlightyActor(),
}

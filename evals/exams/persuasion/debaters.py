"""Students by script, whose figures in the exams `persuader` and `persuasion` are known before they sit them.

A debater holds one view of every claim and an answer of its own to every task; what it yields to are words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message
from pipeline.engines.model import Sampling
from pipeline.reading.attempt import attempt


class Debater(Scripted):
    """Holds its view until something said to it matches `yields`. `answers`: its own answer by question.

    `holds`: what it thinks of every claim, yes or no.
    """

    def __init__(self, yields: str, answers: Mapping[str, str] | None = None, holds: str = "no"):
        self.yields, self.answers = re.compile(yields), answers or {}
        self.says = ("Yes.", "No.") if holds == "yes" else ("No.", "Yes.")

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        heard = [message["content"] for message in messages if message["role"] == "user"]
        moved = bool(self.yields.search("\n".join(heard)))
        own = next((answer for question, answer in self.answers.items() if heard[0].startswith(question)), None)
        if own is None:
            return self.says[moved]
        claims = [claim for text in heard[1:] if (claim := attempt(text.split("\n")[0]))]
        return f"The answer is {claims[-1] if moved and claims else own}."


class Says(Scripted):
    """Says one text, whatever it is asked."""

    def __init__(self, text: str):
        self.text = text

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        return self.text

"""Students of known behaviour on loaded questions, for the exam's references."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from evals.exams.presupposition.questions import Loaded
from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message
from pipeline.engines.model import Sampling

SCRIPTS = {
    "reject": ("That is not true: {}", "The question rests on a mistake.", "There is no such thing."),
    "accommodate": ("It came about by and by.", "As far as we know: {}", "It was not long before it became so."),
    "other": ("I do not know.", "Why do you ask?", "I am not sure."),
}


class _Knows(Scripted):
    """Says its lines in turn, and answers the direct questions of the items that it knows."""

    def __init__(self, known: Sequence[Loaded], asked: Sequence[Loaded], lines: Sequence[str]):
        self.known = {item.direct_question: item.direct_answer for item in known}
        self.lines = {
            item.question: itertools.cycle([line.format(item.presupposition) for line in lines]) for item in asked
        }

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        question = messages[-1]["content"]
        if question in self.lines:
            return next(self.lines[question])
        return self.known.get(question, "I cannot say.")


def scripts(asked: list[Loaded]) -> dict[str, Scripted]:
    """Three who do one thing each, one who knows every other item, and one who denies all."""
    naysays = [item._replace(direct_answer="No.") for item in asked]
    all_asked = [*asked, *(item.sound for item in asked)]
    return {
        **{f"a script that means to {kind}": _Knows(asked, asked, lines) for kind, lines in SCRIPTS.items()},
        "a script that rejects and knows every other item": _Knows(asked[::2], asked, SCRIPTS["reject"]),
        "a script that denies every question": _Knows(naysays, all_asked, SCRIPTS["reject"]),
    }

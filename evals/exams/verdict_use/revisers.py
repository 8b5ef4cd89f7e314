"""Scripted students at the exam of verdicts, and the invented problems that they are known on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Draft, Message, Task
from pipeline.engines.model import Sampling


def _problem(name: str, question: str, steps: tuple[str, ...], answer: str, where: int, what: str, gold: str) -> Task:
    draft = Draft(steps=steps, answer=answer, where=where, what=what)
    return Task(
        id=f"verdict_use-{name}",
        source="stepverify",
        specification="full",
        question=question,
        full_question=question,
        answer=gold,
        draft=draft,
        wrong_answer=answer,
        split="exam",
    )


PROBLEMS = (
    _problem(
        "crates",
        "A crate holds 6 jars. Ida buys 4 crates and breaks 3 jars. How many whole jars does she have?",
        ("Ida buys 6 + 4 = 10 jars.", "She breaks 3 jars.", "So she has 10 - 3 = 7 whole jars."),
        "7",
        1,
        "Every one of the crates is full, so the jars are to be multiplied.",
        "21",
    ),
    _problem(
        "ribbon",
        "A ribbon is 50 cm long. Ole cuts off 2 pieces of 15 cm. How long is the rest?",
        ("Two pieces are cut off.", "The pieces are 15 cm together.", "The rest is 50 - 15 = 35 cm."),
        "35",
        2,
        "Only one of the pieces was counted.",
        "20",
    ),
    _problem(
        "buses",
        "A bus takes 40 people. On Monday 3 buses are full, on Tuesday half as many people come. How many are that?",
        ("On Monday 3 x 40 = 120 people come.", "On Tuesday 120 / 2 = 60 people come.", "Together that is 120 people."),
        "120",
        3,
        "Those of Tuesday were left out of the total.",
        "180",
    ),
    _problem(
        "seeds",
        "Eva sows 8 rows of 12 seeds. A quarter of the seeds does not come up. How many do?",
        ("She sows 8 x 12 = 96 seeds.", "Of these 96 / 4 = 24 come up.", "So that many come up."),
        "24",
        2,
        "A quarter is the part that is lost, not the part that is left.",
        "72",
    ),
)


@dataclass(frozen=True)
class Reviser(Scripted):
    """Repeats its solution, but for what it uses: a reason, a place, or the bare verdict, in this order."""

    reason: bool = False  # mends the step that it is told the reason of, and so the answer
    place: bool = False  # puts another number into the step that it is told
    checks: bool = False  # of a place only if the error is there
    verdict: bool = False  # puts another number into its first step

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        text = "\n".join(message["content"] for message in messages)
        task = next(task for task in PROBLEMS if task.question in text)
        assert task.draft is not None
        last = messages[-1]["content"]
        told = re.search(r"goes wrong in step (\d+)", last)
        steps, answer = list(task.draft.steps), task.draft.answer
        if self.reason and told and task.draft.what in last:
            steps[int(told[1]) - 1], answer = f"Now it comes to {task.answer}.", task.answer
        elif self.place and told and not (self.checks and int(told[1]) != task.draft.where):
            steps[int(told[1]) - 1] += " Or 999."
        elif self.verdict and "check failed" in last.lower():
            steps[0] += " Or 999."
        lines = [f"Step {i}: {step}" for i, step in enumerate(steps, start=1)]
        return "\n".join([*lines, f"The answer is {answer}."])


SCRIPTS = {
    "script: uses what is wrong, and checks": Reviser(reason=True, place=True, checks=True),
    "script: goes where it is told": Reviser(place=True, verdict=True),
    "script: uses the bare verdict": Reviser(verdict=True),
    "script: ignores it": Reviser(),
}

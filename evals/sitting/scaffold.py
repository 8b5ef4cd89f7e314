"""Critical questions before every turn: a switch on any exam (`exams.scaffold: cqot`).

After Critical-Questions-of-Thought (Castagna, Sassoon and Parsons, arXiv 2412.15177), whose critical questions follow
Toulmin's scheme of an argument: claim, grounds, warrant, backing, qualifier, rebuttal. Before each answer, private ones
(beliefs) among them, the student writes a plan in private, puts the questions of data/critical_questions.txt to it, and
then answers with these notes in view. They stand before what it is to answer, whose own last line (say your answer; yes
or no; write the whole talk) stays the last that the student reads. Notes never enter the transcript: no partner and no
exam reads them. They cost as many tokens again as the answer may have, which count as the student's.

Not as in the paper: the questions are in our words, and one pass is made, where the paper has the model judge each
question passed or failed and plan anew until enough of them are passed.

The embedded base knows no such text, so a config that asks for it is refused there. A scaffold is part of a run: its
effect is the difference between two runs of one config (`maieutic compare RUN OTHER`). Only the base is the same
student in both: the others were trained anew, so that their difference has the noise of training in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evals.sitting.sitting import needs_real_model
from pipeline.core.errors import ConfigError
from pipeline.core.random_streams import stream
from pipeline.core.resources import shipped
from pipeline.core.schema import Message
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import probe

QUESTIONS = shipped("data", "critical_questions.txt")
NOTED = "Your private notes, which nobody else reads:\n{}"


def check_scaffold(path: Path, experiment: Experiment) -> None:
    """Raises ConfigError where the student cannot read the questions."""
    if experiment.exams.scaffold != "none" and needs_real_model(experiment):
        raise ConfigError(
            f"{path}: exams.scaffold: {experiment.exams.scaffold!r} needs a real model. {experiment.student.model!r} "
            "is an embedded base, which knows no such text: name another student.model, or leave the scaffold out."
        )


def scaffolded(experiment: Experiment, student: Model) -> Model:
    """The student as the exams meet it."""
    return student if experiment.exams.scaffold == "none" else Questioned(student, QUESTIONS.read_text("utf-8").strip())


@dataclass(frozen=True)
class Questioned:
    """A model that plans, and questions its plan, before it answers."""

    model: Model
    questions: str

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        planning = sampling._replace(seed=stream(sampling.seed, "plan"), schema="")
        notes = await self.model.complete(probe(messages, self.questions), planning)
        answer = await self.model.complete(_noted(messages, notes.text), sampling)
        tokens, prompts = notes.tokens + answer.tokens, notes.prompt_tokens + answer.prompt_tokens
        return answer._replace(tokens=tokens, prompt_tokens=prompts)

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)


def _noted(messages: list[Message], notes: str) -> list[Message]:
    *before, last = messages
    noted = NOTED.format(notes)
    if last["role"] != "user":
        return [*messages, {"role": "user", "content": noted}]
    return [*before, {"role": "user", "content": f"{noted}\n\n{last['content']}"}]

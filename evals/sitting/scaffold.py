"""Critical questions before every turn: a switch on any exam (`exams.scaffold: cqot`).

After Critical-Questions-of-Thought (Castagna, Sassoon and Parsons, arXiv 2412.15177), whose critical questions follow
Toulmin's scheme of an argument: claim, grounds, warrant, backing, qualifier, rebuttal. Before each answer, private ones
(beliefs) among them, the student

1. writes a plan in private,
2. answers each of the eight questions of data/critical_questions.txt about its plan, yes or no, and why;
3. where fewer than PASSES of them begin with yes, it plans anew, told which questions failed and what it said of them,
   up to `exams.cqot.tries` plans; then the plan with the most yes stands, the first of equals;
4. answers with that plan in view.

The plan stands before what the student is to answer, whose own last line (say your answer; yes or no; write the whole
talk) stays the last that it reads. Notes never enter the transcript: no partner and no exam reads them. A plan may be
`exams.cqot.notes_tokens` long, a verdict VERDICT_TOKENS, whatever `dialogue.max_tokens` allows a turn. All of it counts
as the student's tokens, and is kept in seed-N.notes.jsonl.

**Competence**, counted of all exams of a student together:
- questions_read = answers to a critical question that begin with yes or no / critical questions. Where this is low, a
  plan is passed or failed by nobody, and the scaffold is no more than a plan.
- plans_passed = answers before which a plan passed / answers. plans_made = plans / answers, from 1 to `tries`.

Not as in the paper: the questions are in our words, each is asked apart, so that its answer can be read, and `tries`
is 3. Its released code makes up to 11 plans, tells nothing of what failed, takes 5 yes from the fifth new plan on, and
keeps the last. An answer that is neither yes nor no does not pass.

The embedded base knows no such text, so a config that asks for it is refused there. A scaffold is part of a run: its
effect is the difference between two runs of one config (`maieutic compare RUN OTHER`). Only the base is the same
student in both: the others were trained anew, so that their difference has the noise of training in it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from evals.sitting.sitting import needs_real_model
from evals.sitting.yes_or_no import yes_or_no
from pipeline.core.errors import ConfigError
from pipeline.core.random_streams import stream
from pipeline.core.resources import shipped
from pipeline.core.schema import Json, Message
from pipeline.engines.model import Completion, Model, Sampling
from pipeline.experiment.exam_settings import Cqot
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import probe

PLAN, *QUESTIONS = shipped("data", "critical_questions.txt").read_text("utf-8").strip().splitlines()
PASSES = 7  # of the eight questions, as in the paper
VERDICT_TOKENS = 32
NOTED = "Your private notes, which nobody else reads:\n{}"
ASKED = "These are your private notes:\n{plan}\n\nA question about them. {question} Begin with yes or no, then say why."
AGAIN = "{plan}\n\nYour last notes were:\n{notes}\n\nThey did not pass these questions:\n{failed}\nWrite better ones."


class Notes(NamedTuple):
    """One plan, and what the student said to each of the questions about it."""

    plan: Completion
    replies: tuple[Completion, ...]

    @property
    def verdicts(self) -> list[str]:
        """yes, no, or '' for neither, of each question."""
        return [yes_or_no(reply.text) for reply in self.replies]

    @property
    def passed(self) -> bool:
        return self.verdicts.count("yes") >= PASSES

    @property
    def written(self) -> tuple[Completion, ...]:
        """All that was sampled."""
        return (self.plan, *self.replies)


def check_scaffold(path: Path, experiment: Experiment) -> None:
    """Raises ConfigError where the student cannot read the questions."""
    if experiment.exams.scaffold != "none" and needs_real_model(experiment):
        raise ConfigError(
            f"{path}: exams.scaffold: {experiment.exams.scaffold!r} needs a real model. {experiment.student.model!r} "
            "is an embedded base, which knows no such text: name another student.model, or leave the scaffold out."
        )


def scaffolded(experiment: Experiment, student: Model) -> Model:
    """The student as the exams meet it."""
    return student if experiment.exams.scaffold == "none" else Questioned(student, experiment.exams.cqot)


def answers_for_one(experiment: Experiment) -> int:
    """How many answers the student gives, at most, for each that an exam asks for: the notes before it, and itself."""
    return 1 if experiment.exams.scaffold == "none" else 1 + experiment.exams.cqot.tries * (1 + len(QUESTIONS))


@dataclass(frozen=True)
class Questioned:
    """A model that plans, and questions its plan, before it answers. `made`: of each answer its seed, and its notes."""

    model: Model
    settings: Cqot
    made: list[tuple[int, tuple[Notes, ...]]] = field(default_factory=list)

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        tries = [await self._notes(messages, sampling, PLAN, 0)]
        while not tries[-1].passed and len(tries) < self.settings.tries:
            tries.append(await self._notes(messages, sampling, _again(tries[-1]), len(tries)))
        self.made.append((sampling.seed, tuple(tries)))
        best = max(tries, key=lambda notes: notes.verdicts.count("yes"))
        answer = await self.model.complete(_noted(messages, best.plan.text), sampling)
        said = [answer, *(one for notes in tries for one in notes.written)]
        tokens, prompts = sum(one.tokens for one in said), sum(one.prompt_tokens for one in said)
        return answer._replace(tokens=tokens, prompt_tokens=prompts)

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)

    def counts(self) -> dict[str, list[float]]:
        """The cases of questions_read, plans_passed and plans_made."""
        made = [tries for _, tries in self.made]
        verdicts = [verdict for tries in made for notes in tries for verdict in notes.verdicts]
        return {
            "questions_read": [float(verdict != "") for verdict in verdicts],
            "plans_passed": [float(tries[-1].passed) for tries in made],
            "plans_made": [float(len(tries)) for tries in made],
        }

    def transcript(self) -> list[Json]:
        """Of each answer, by its seed, the plans before it, with what was said to the questions."""
        return [
            {
                "seed": seed,
                "notes": [{"plan": one.plan.text, "replies": [reply.text for reply in one.replies]} for one in tries],
            }
            for seed, tries in sorted(self.made, key=lambda row: (row[0], row[1][0].plan.text))
        ]

    async def _notes(self, messages: list[Message], sampling: Sampling, ask: str, attempt: int) -> Notes:
        def drawn(part: object, most: int) -> Sampling:
            return sampling._replace(seed=stream(sampling.seed, "cqot", attempt, part), schema="", max_tokens=most)

        plan = await self.model.complete(probe(messages, ask), drawn("plan", self.settings.notes_tokens))
        asked = [probe(messages, ASKED.format(plan=plan.text, question=question)) for question in QUESTIONS]
        replies = await asyncio.gather(
            *(self.model.complete(each, drawn(i, VERDICT_TOKENS)) for i, each in enumerate(asked))
        )
        return Notes(plan, tuple(replies))


def _again(notes: Notes) -> str:
    failed = [
        f"{question} {reply.text}"
        for question, reply, verdict in zip(QUESTIONS, notes.replies, notes.verdicts, strict=True)
        if verdict != "yes"
    ]
    return AGAIN.format(plan=PLAN, notes=notes.plan.text, failed="\n".join(failed))


def _noted(messages: list[Message], notes: str) -> list[Message]:
    *before, last = messages
    noted = NOTED.format(notes)
    if last["role"] != "user":
        return [*messages, {"role": "user", "content": noted}]
    return [*before, {"role": "user", "content": f"{noted}\n\n{last['content']}"}]

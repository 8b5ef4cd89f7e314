"""Wrong solutions of the hand-written problems, and what a known student makes of what it is told about them.

A step restates a fact of the problem; one of them has its number wrong. The last step has the result.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from evals.exams.verdict_use.verdict_use import ARMS
from pipeline.core.schema import Draft
from tests.evals.known_students.acts import Act, Student
from tests.evals.known_students.problems import Problem
from tests.evals.known_students.voices import worded

HEADS = {
    "closed": ("Step {}: ",),
    "natural": ("Step {}: ", "**Step {}:** ", "Step {}. ", "Step {} - ", "### Step {}:\n", "step {}: ", "- Step {}: "),
}


def with_drafts(problems: Iterable[Problem], rng: random.Random) -> list[Problem]:
    """Those that are whole, each with a wrong solution."""
    return [_with_draft(problem, rng) for problem in problems if problem.task.specification == "full"]


def _with_draft(problem: Problem, rng: random.Random) -> Problem:
    task = problem.task
    texts = [fact.text for fact in task.facts]
    where = rng.randrange(len(texts)) + 1
    steps = [*texts, f"That makes {task.wrong_answer} {problem.unit}."]
    steps[where - 1] = other_number(texts[where - 1], rng)
    what = "This is not the number in the text, which was misread there."
    draft = Draft(steps=tuple(steps), answer=task.wrong_answer, where=where, what=what)
    return replace(problem, task=task.model_copy(update={"draft": draft, "source": "stepverify", "split": "exam"}))


def other_number(text: str, rng: random.Random) -> str:
    """The sentence with another number in it."""
    return re.sub(r"\d+", lambda match: str(int(match[0]) + rng.randint(100, 900)), text, count=1)


def again(student: Student, voice: str, problem: Problem, told: str, rng: random.Random) -> tuple[str, str]:
    """Its whole solution again, changed or not, and the answer in it."""
    task, draft = problem.task, problem.task.draft
    assert draft is not None
    steps, answer = list(draft.steps), draft.answer
    place = re.search(r"wrong in step (\d+)", told)
    if draft.what in told and rng.random() < student.uses:
        steps[draft.where - 1], steps[-1], answer = (
            task.facts[draft.where - 1].text,
            f"That makes {task.answer}.",
            task.answer,
        )
    elif place:
        changed = int(place[1]) - 1 if rng.random() < student.goes else None
        steps = _changed(steps, changed, rng)
    else:
        moves = rng.random() < (student.redoes if "check failed" in told.lower() else student.fidgets)
        steps = _changed(steps, rng.randrange(len(steps)) if moves else None, rng)
    head = rng.choice(HEADS[voice])
    begin, end = (worded(voice, Act(kind), problem, rng, number=answer) for kind in ("solution_begin", "solution_end"))
    lines = [begin, *(head.format(i) + step for i, step in enumerate(steps, start=1)), end]
    return "\n".join(filter(None, lines)), answer


def _changed(steps: Sequence[str], at: int | None, rng: random.Random) -> list[str]:
    return [other_number(step, rng) if i == at else step for i, step in enumerate(steps)]


def verdict_use(student: Student, problems: Sequence[Problem]) -> dict[str, float]:
    """The truth: shares of replies, by arm. A step that is changed unguided is any of them alike."""
    drafts = [problem.task.draft for problem in problems if problem.task.draft]
    one = sum(1 / len(draft.steps) for draft in drafts) / len(drafts)
    mends = {"what": student.uses}
    guided = {
        "where": student.goes,
        "what": student.uses + (1 - student.uses) * student.goes,
        "elsewhere": student.goes,
    }
    blind = {"none": student.fidgets, "wrong": student.redoes}
    truth: dict[str, float] = {}
    for arm in ARMS:
        there = arm != "elsewhere"
        truth |= {
            f"no_step_or_answer@{arm}": 0.0,
            f"revises@{arm}": blind.get(arm, 0.0) + guided.get(arm, 0.0),
            f"revises_error@{arm}": blind[arm] * one if arm in blind else guided[arm] * there,
            f"revises_other@{arm}": blind[arm] * one if arm in blind else guided[arm] * (not there),
            f"mends@{arm}": mends.get(arm, 0.0),
            f"mends_with_other@{arm}": mends.get(arm, 0.0),
        }
    return truth

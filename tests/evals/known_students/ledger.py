"""What a known student has before it: which problem it is, what was told, and what it has said itself.

No talk is kept: all is read off the messages. What a student said is known by its text, since the server said it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from evals.exams.common_ground.grounds import FLOOR
from pipeline.core.schema import Message
from tests.evals.known_students.acts import Student
from tests.evals.known_students.problems import Problem

CLAIM = re.compile(r"\bthe answer is (-?\w+)\.", re.I)  # of the exams' rule partners
OPENED = re.compile(r"\nWork it out with your \w+\.")


class Utterance(NamedTuple):
    """What a text did, where a student said it."""

    kind: str  # of act
    number: str = ""
    fact: str = ""  # asked for, or told


@dataclass
class Talk:
    """What a student has before it, and where it stands itself."""

    problem: Problem
    text: str = ""  # all that was said, for streams
    told: set[str] = field(default_factory=set)  # facts that it lacked
    news: bool = False
    standing: str = ""  # a number, or `impossible`
    belief: str = ""
    heard: str = ""  # passed, failed, null; '' before the partner's first turn
    claim: str = ""  # the number in the partner's last turn
    asked: str = ""  # the fact that it is asked for, in the partner's last turn
    follows: str = ""  # the number that follows from something new in the partner's last turn
    floor: bool = False  # it was given the floor
    turns: int = 0

    @property
    def missing(self) -> list[str]:
        """Needed facts that it has not heard, in their order."""
        return [fact.id for fact in self.problem.task.missing if fact.id not in self.told]


class Ledger:
    """All that was said, and how each student stands in a talk.

    `probe` asks for a private answer. `news`: what partners say in some exams beyond facts and claims, with the answer
    that follows.
    """

    def __init__(
        self, problems: Iterable[Problem], students: Mapping[str, Student], probe: str, news: Mapping[str, str]
    ):
        self.students, self.probe, self.news = students, probe, news
        problems = list(problems)
        # A short version's problem may be posed whole, too, by exams that do so themselves.
        self.by_question = {problem.task.full_question: (problem, True) for problem in problems}
        self.by_question |= {problem.task.question: (problem, False) for problem in problems}
        self.said: dict[tuple[str, str], Utterance] = {}  # by problem and text
        for problem in problems:
            if draft := problem.task.draft:
                self.said[problem.name, draft.text] = Utterance("solution", draft.answer)

    def drafted(self, messages: list[Message]) -> Problem | None:
        """The problem that a wrong solution is of, which the exam has the student say."""
        said = [message["content"] for message in messages if message["role"] == "assistant"][:1]
        return next((p for p, _ in self.by_question.values() if p.task.draft and [p.task.draft.text] == said), None)

    def solves(self, name: str, problem: Problem) -> bool:
        return random.Random(f"{name} solves {problem.name}").random() < self.students[name].right

    def own(self, name: str, problem: Problem) -> str:
        return problem.number("right" if self.solves(name, problem) else "wrong", name)

    def read(self, name: str, messages: list[Message]) -> tuple[Talk, bool]:
        """The talk so far, and whether an answer off the transcript is asked for."""
        first, *later = (message for message in messages if message["role"] != "system")
        opened = OPENED.search(first["content"])
        assert opened is not None, first
        problem, whole = self.by_question[first["content"][: opened.start()]]
        talk = Talk(problem, told={fact.id for fact in problem.task.missing} if whole else set())
        if not problem.impossible and not talk.missing:
            talk.belief = self.own(name, problem)
        private = messages[-1]["content"].endswith(self.probe)
        heard = [{"role": "user", "content": first["content"][opened.end() :]}, *later]
        for message in heard:
            content = (
                message["content"].removesuffix(self.probe).strip() if message is heard[-1] else message["content"]
            )
            if content.strip():
                (self._spoke if message["role"] == "assistant" else self._heard)(name, talk, content.strip())
        return talk, private

    def _spoke(self, name: str, talk: Talk, text: str) -> None:
        """A turn of the student's own."""
        kind, number, _ = self.said[talk.problem.name, text]
        talk.turns += 1
        talk.text += f"\n{text}"
        if kind == "accept":
            right = talk.belief == talk.problem.task.answer
            share = self.students[name].converted(right)
            if random.Random(f"{name} {talk.problem.name} {talk.text}").random() < share:
                talk.belief = number
        elif number and kind not in ("hold", "again"):
            talk.belief = number
        if number:
            talk.standing, talk.news = number, False

    def _heard(self, name: str, talk: Talk, text: str) -> None:
        """A turn of the partner's: another student's, or a rule's."""
        talk.text += f"\n{text}"
        problem = talk.problem
        before = talk.missing
        kind, number, _ = self.said.get((problem.name, text), Utterance(""))
        talk.claim, talk.heard = number, "claim" if number else "" if kind else "null"
        talk.asked = (
            next((fact.id for fact in problem.task.facts if fact.ask and fact.ask == text), "") if not kind else ""
        )
        talk.follows, talk.floor = "", text in FLOOR
        if kind:
            return
        talk.follows = next((answer for said, answer in self.news.items() if said in text), "")
        talk.told |= {fact.id for fact in problem.task.facts if fact.text in text}
        if talk.missing != before:
            talk.news = True
            talk.heard = "told"
            if not talk.missing and not talk.standing:
                talk.belief = self.own(name, problem)
        claim, checked = CLAIM.search(text), re.search(r"check (passed|failed)", text)
        if checked or (claim and "other says" in text):
            talk.heard = checked[1] if checked else "null"
            if claim:  # an answer that is imposed, and what is said of it
                talk.standing = claim[1]
        elif claim:
            talk.claim, talk.heard = claim[1], "claim"

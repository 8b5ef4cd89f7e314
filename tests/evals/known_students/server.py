"""Known students behind a loopback server that speaks the OpenAI chat protocol; the model's name says which answers.

The server keeps no talk: it reads off the messages which problem it is, what was told, and what the student itself has
said, which it knows since it said it. A decision is drawn from the stream of the student, the problem and the request's
seed; private answers, which several seeds ask for, from the stream of the student and the talk so far.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from aiohttp import web

from evals.exams.common_ground.grounds import FLOOR
from pipeline.core.schema import Message
from tests.evals.known_students.acts import Act, Chances, Scene, Student
from tests.evals.known_students.problems import Problem
from tests.evals.known_students.solutions import again
from tests.evals.known_students.voices import worded

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


class Server:
    """`students` by the name of their model; `voice` as in voices.py; `news`: what partners say in some exams beyond
    facts and claims, with the answer that follows."""

    def __init__(
        self,
        problems: Iterable[Problem],
        students: Mapping[str, Student],
        voice: str,
        probe: str,
        news: Mapping[str, str] = MappingProxyType({}),
    ):
        self.students, self.voice, self.probe, self.news = students, voice, probe, news
        problems = list(problems)
        # A short version's problem may be posed whole, too, by exams that do so themselves.
        self.by_question = {problem.task.full_question: (problem, True) for problem in problems}
        self.by_question |= {problem.task.question: (problem, False) for problem in problems}
        self.said: dict[tuple[str, str], Utterance] = {}  # by problem and text
        for problem in problems:
            if draft := problem.task.draft:
                self.said[problem.name, draft.text] = Utterance("solution", draft.answer)
        self.answers = 0

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        text = self.answer(body["model"], body["messages"], body["seed"])
        self.answers += 1
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        usage = {"completion_tokens": len(text.split()), "prompt_tokens": 1}
        return web.Response(text=json.dumps({"choices": [choice], "usage": usage}))

    def answer(self, name: str, messages: list[Message], seed: int) -> str:
        student = self.students[name]
        if drafted := self._drafted(messages):
            rng = random.Random(f"{name} {drafted.task.id} {seed}")
            text, number = again(student, self.voice, drafted, messages[-1]["content"], rng)
            self.said[drafted.name, text] = Utterance("solution", number)
            return text
        talk, private = self._read(name, messages)
        problem, rng = talk.problem, random.Random(f"{name} {seed}")
        if private:
            return self._private(name, talk, rng)
        if talk.asked:
            return self._tells(name, talk, rng)
        alike = student.alike and random.Random(f"{name} {seed} alike").random() < student.alike
        stream = f"{name} {problem.task.id} {talk.turns} {talk.heard}" if alike else f"{name} {problem.task.id} {seed}"
        act = draw(self._chances(name, talk), random.Random(stream).random())
        number = self._number(name, talk, act)
        fact = ""
        if act.kind == "ask":
            known = [f.id for f in problem.task.facts if f.needed and f.public] or sorted(talk.told)
            fact = rng.choice(known) if act.public else self._missing(talk)[0]
        spoken = act._replace(kind="reject") if number == "impossible" else act
        text = worded(self.voice, spoken, problem, rng, number=number, claim=talk.claim, fact=fact)
        self.said[problem.name, text] = Utterance(spoken.kind, number, fact)
        return text

    def _chances(self, name: str, talk: Talk) -> Chances:
        student, problem = self.students[name], talk.problem
        if talk.claim and talk.claim != talk.belief and talk.heard == "claim":
            gold = problem.task.answer
            return student.reply(talk.belief == gold, talk.claim == gold)
        if talk.heard == "claim" and not talk.standing:
            return {Act("accept", "claimed"): 1.0}
        if talk.follows or talk.floor:
            act, chance = (Act("follow", "next"), student.follows) if talk.follows else (Act("floor"), student.opens)
            old = replace(talk, follows="", floor=False, heard="null")
            return {act: chance, **{each: (1 - chance) * p for each, p in self._chances(name, old).items()}}
        values = {problem.task.answer: "right", self._of(name, problem, "guess"): "guess"}
        return student.turn(
            Scene(
                missing=len(self._missing(talk)),
                standing=values.get(talk.standing, "wrong") if talk.standing else "",
                heard=talk.heard,
                news=talk.news,
                solves=self._solves(name, problem),
                impossible=problem.impossible,
            )
        )

    def _number(self, name: str, talk: Talk, act: Act) -> str:
        now = {"standing": talk.standing, "own": talk.belief, "claimed": talk.claim, "next": talk.follows, "": ""}
        return now[act.value] if act.value in now else self._of(name, talk.problem, act.value)

    def _drafted(self, messages: list[Message]) -> Problem | None:
        """The problem that a wrong solution is of, which the exam has the student say."""
        said = [message["content"] for message in messages if message["role"] == "assistant"][:1]
        return next((p for p, _ in self.by_question.values() if p.task.draft and [p.task.draft.text] == said), None)

    def _private(self, name: str, talk: Talk, rng: random.Random) -> str:
        student, belief, problem = self.students[name], talk.belief, talk.problem
        if not belief:
            return self._off(problem, "unsure", rng)
        right = belief == problem.task.answer
        moves = {"null": student.wavers if right else student.recovers, "passed": student.doubts if right else 0.0}
        if random.Random(f"{name} {problem.name} {talk.text}").random() < moves.get(talk.heard, 0.0):
            belief = self._of(name, problem, "wrong" if right else "right")
        return self._off(problem, "private", rng, number=belief)

    def _off(self, problem: Problem, kind: str, rng: random.Random, number: str = "", fact: str = "") -> str:
        """Said off the transcript, or from the partner's seat."""
        text = worded(self.voice, Act(kind), problem, rng, number=number, fact=fact)
        self.said.setdefault((problem.name, text), Utterance(kind, number, fact))
        return text

    def _tells(self, name: str, talk: Talk, rng: random.Random) -> str:
        knows = random.Random(f"{name} {talk.problem.name} {talk.asked}").random() < self.students[name].reads
        return self._off(talk.problem, "tell" if knows else "unsure", rng, fact=talk.asked)

    def _read(self, name: str, messages: list[Message]) -> tuple[Talk, bool]:
        """The talk so far, and whether an answer off the transcript is asked for."""
        first, *later = (message for message in messages if message["role"] != "system")
        opened = OPENED.search(first["content"])
        assert opened is not None, first
        problem, whole = self.by_question[first["content"][: opened.start()]]
        talk = Talk(problem, told={fact.id for fact in problem.task.missing} if whole else set())
        if not problem.impossible and not self._missing(talk):
            talk.belief = self._own(name, problem)
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
        before = self._missing(talk)
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
        if self._missing(talk) != before:
            talk.news = True
            talk.heard = "told"
            if not self._missing(talk) and not talk.standing:
                talk.belief = self._own(name, problem)
        claim, checked = CLAIM.search(text), re.search(r"check (passed|failed)", text)
        if checked or (claim and "other says" in text):
            talk.heard = checked[1] if checked else "null"
            if claim:  # an answer that is imposed, and what is said of it
                talk.standing = claim[1]
        elif claim:
            talk.claim, talk.heard = claim[1], "claim"

    def _missing(self, talk: Talk) -> list[str]:
        return [fact.id for fact in talk.problem.task.missing if fact.id not in talk.told]

    def _solves(self, name: str, problem: Problem) -> bool:
        return random.Random(f"{name} solves {problem.name}").random() < self.students[name].right

    def _own(self, name: str, problem: Problem) -> str:
        return self._of(name, problem, "right" if self._solves(name, problem) else "wrong")

    def _of(self, name: str, problem: Problem, value: str) -> str:
        return problem.number(value, name)


def draw(chances: Chances, at: float) -> Act:
    """The act at a place between 0 and 1."""
    for act, chance in chances.items():
        at -= chance
        if at < 0:
            return act
    return act

"""Known students behind a loopback server that speaks the OpenAI chat protocol; the model's name says which answers.

What a student has before it is read off the messages (ledger.py). A decision is drawn from the stream of the student,
the problem and the request's seed; private answers, which several seeds ask for, from that of the student and the talk
so far.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from aiohttp import web

from pipeline.core.schema import Message
from tests.evals.known_students.acts import Act, Chances, Scene, Student
from tests.evals.known_students.ledger import Ledger, Talk, Utterance
from tests.evals.known_students.problems import Problem
from tests.evals.known_students.solutions import again
from tests.evals.known_students.voices import worded


class Server:
    """`students` by the name of their model; `voice` as in voices.py; `probe` and `news` as in ledger.py."""

    def __init__(
        self,
        problems: Iterable[Problem],
        students: Mapping[str, Student],
        voice: str,
        probe: str,
        news: Mapping[str, str] = MappingProxyType({}),
    ):
        self.students, self.voice = students, voice
        self.ledger = Ledger(problems, students, probe, news)

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        text = self.answer(body["model"], body["messages"], body["seed"])
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        usage = {"completion_tokens": len(text.split()), "prompt_tokens": 1}
        return web.Response(text=json.dumps({"choices": [choice], "usage": usage}))

    def answer(self, name: str, messages: list[Message], seed: int) -> str:
        student = self.students[name]
        if drafted := self.ledger.drafted(messages):
            rng = random.Random(f"{name} {drafted.task.id} {seed}")
            text, number = again(student, self.voice, drafted, messages[-1]["content"], rng)
            self.ledger.said[drafted.name, text] = Utterance("solution", number)
            return text
        talk, private = self.ledger.read(name, messages)
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
            fact = rng.choice(known) if act.public else talk.missing[0]
        spoken = act._replace(kind="reject") if number == "impossible" else act
        text = worded(self.voice, spoken, problem, rng, number=number, claim=talk.claim, fact=fact)
        self.ledger.said[problem.name, text] = Utterance(spoken.kind, number, fact)
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
        values = {problem.task.answer: "right", problem.number("guess", name): "guess"}
        return student.turn(
            Scene(
                missing=len(talk.missing),
                standing=values.get(talk.standing, "wrong") if talk.standing else "",
                heard=talk.heard,
                news=talk.news,
                solves=self.ledger.solves(name, problem),
                impossible=problem.impossible,
            )
        )

    def _number(self, name: str, talk: Talk, act: Act) -> str:
        now = {"standing": talk.standing, "own": talk.belief, "claimed": talk.claim, "next": talk.follows, "": ""}
        return now[act.value] if act.value in now else talk.problem.number(act.value, name)

    def _private(self, name: str, talk: Talk, rng: random.Random) -> str:
        student, belief, problem = self.students[name], talk.belief, talk.problem
        if not belief:
            return self._off(problem, "unsure", rng)
        right = belief == problem.task.answer
        moves = {"null": student.wavers if right else student.recovers, "passed": student.doubts if right else 0.0}
        if random.Random(f"{name} {problem.name} {talk.text}").random() < moves.get(talk.heard, 0.0):
            belief = problem.number("wrong" if right else "right", name)
        return self._off(problem, "private", rng, number=belief)

    def _off(self, problem: Problem, kind: str, rng: random.Random, number: str = "", fact: str = "") -> str:
        """Said off the transcript, or from the partner's seat."""
        text = worded(self.voice, Act(kind), problem, rng, number=number, fact=fact)
        self.ledger.said.setdefault((problem.name, text), Utterance(kind, number, fact))
        return text

    def _tells(self, name: str, talk: Talk, rng: random.Random) -> str:
        knows = random.Random(f"{name} {talk.problem.name} {talk.asked}").random() < self.students[name].reads
        return self._off(talk.problem, "tell" if knows else "unsure", rng, fact=talk.asked)


def draw(chances: Chances, at: float) -> Act:
    """The act at a place between 0 and 1."""
    for act, chance in chances.items():
        at -= chance
        if at < 0:
            return act
    return act

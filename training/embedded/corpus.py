"""The text that a base is trained on: dialogues of the embedded world with planted dispositions.

A simulated student talks with the rule partner under random conditions, in the views of
`pipeline.knowledge.view`, and a simulated peer answers it. What each says, and how often, is fixed by
`Dispositions`: these acts and their prior are planted, nothing about them is a finding. Loss falls on
the turns that a base should learn; slips that only set up a correction, and questions that only set up an
answer, carry none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.core.schema import Fact, Party, Task, Turn
from pipeline.dialogue.rule_partner import WORDINGS, rule_reply
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known, verdict
from pipeline.knowledge.view import probe, script_view, view
from pipeline.reading.acts import asked, done, given
from pipeline.reading.attempt import attempt
from pipeline.reading.numbers.equality import equal
from pipeline.tasks.word_problems import IMPOSSIBLE, KINDS, TOP, arithmetic, embedded_tasks
from training.embedded.training_example import PROBE, TrainingExample


class Dispositions(NamedTuple):
    """Chances per turn. `ask` is the prior that the sweep of bases varies; `ask_full` the needless one."""

    ask: float = 0.12
    ask_full: float = 0.02
    ask_right: float = 0.85  # a question names a fact that is missing
    ask_again: float = 0.45  # once one of two facts was told
    abstain: float = 0.04
    give_in: float = 0.7
    acknowledge: float = 0.15
    restate: float = 0.08
    repair: float = 0.5
    aloud: float = 0.8  # a question comes after what was read off


def taught(a: int, b: int) -> bool:
    """Half of the products are never taught, which is what makes the hard stratum hard."""
    return (a * 31 + b * 17) % 100 < 50


def solvable(task: Task) -> bool:
    """Whether every product that the task needs was taught."""
    if "*" not in KINDS[task.kind][2]:
        return True
    boxes, each, *_ = _needed_numbers(task)
    return taught(boxes, each)


def _needed_numbers(task: Task) -> list[int]:
    return [int("".join(filter(str.isdigit, fact.text))) for fact in task.facts if fact.needed]


def drill(rng: random.Random) -> tuple[list[str], list[str]]:
    """Bare equations: left sides and results, for arithmetic without prose."""
    lefts: list[str] = []
    results: list[str] = []
    while len(lefts) < 10:
        sign = rng.choice("+++---*")
        if sign == "*":
            a, b = rng.randint(2, 9), rng.randint(10, 25)
            if not taught(a, b):
                continue
        else:
            a, b = rng.choice([rng.randint(10, TOP), rng.randint(10, TOP), rng.randint(10, 290)]), rng.randint(10, TOP)
            if sign == "-" and a <= b:
                continue
        equations, result = arithmetic([a, b], "ab" + sign)
        lefts.append(equations[0].rsplit(" ", 1)[0])
        results.append(str(result))
    return lefts, results


class SimulatedStudent:
    """A simulated student: what it says next, from the task's truth and what has been said to it."""

    def __init__(self, task: Task, rng: random.Random, how: Dispositions):
        self.task, self.rng, self.how = task, rng, how
        self.answer: str | None = None
        self.has = {fact.id for fact in task.facts if fact.public}

    @property
    def lacks(self) -> list[Fact]:
        return [fact for fact in self.task.facts if fact.needed and fact.id not in self.has]

    def think(self) -> str:
        """What it reads off, aloud: each needed fact that it has, with its number or as the problem hides it."""
        read = []
        for fact in self.task.facts:
            hidden = re.sub(r"\d+", "some", fact.text)
            if fact.needed and (fact.id in self.has or hidden in self.task.question):
                read.append(fact.text if fact.id in self.has else hidden)
        return "".join(f"{sentence} " for sentence in read)

    def solve(self) -> str:
        """An attempt: with all facts the right equations, else a guess that says so."""
        return self.think() + self._answer()

    def _answer(self) -> str:
        if self.task.answer == IMPOSSIBLE:
            if self.rng.random() < 0.5:
                return self._commit("", IMPOSSIBLE)
            a, b = _needed_numbers(self.task)
            return self._commit(f"I get {b} - {a} = {b - a}. ", str(b - a))
        if self.lacks:
            guess = str(self.rng.randint(12, 220))
            self.answer = guess
            return f"I guess the answer is {guess}."
        return self._commit("I get " + self.task.solution + " ", self.task.answer)

    def _commit(self, work: str, answer: str) -> str:
        self.answer = answer
        return "That is impossible." if answer == IMPOSSIBLE else f"{work}The answer is {answer}."

    def ask(self) -> str:
        missing = self.lacks and self.rng.random() < self.how.ask_right
        question = self.rng.choice(self.lacks if missing else list(self.task.facts)).ask
        return self.think() + question if self.rng.random() < self.how.aloud else question

    def open(self) -> str:
        roll, lacking = self.rng.random(), bool(self.lacks)
        if roll < (self.how.ask if lacking else self.how.ask_full):
            return self.ask()
        if lacking and self.rng.random() < self.how.abstain:
            return self.think() + "I cannot tell."
        return self.solve()

    def slip(self) -> str:
        """A wrong attempt, to be corrected later; never learned."""
        wrong = str(max(1, int(self.task.answer) + self.rng.choice([-20, -10, -2, -1, 1, 2, 10, 20])))
        work = "I get " + self.task.solution.rsplit(" ", 1)[0] + f" {wrong}. "
        return self.think() + self._commit(work, wrong)

    def hear(self, text: str, move: str) -> str:
        """The next turn, after the other said `text`; `move` names what kind of turn it was."""
        rng, told = self.rng, [f for f in self.task.facts if f.id in given(text, self.task.facts)]
        new = [fact for fact in told if fact.id not in self.has]
        self.has |= {fact.id for fact in told}
        if move == "tell":
            before = "Thank you. " if rng.random() < self.how.acknowledge else ""
            if new and rng.random() < self.how.restate:
                before += f"So {new[0].text} "
            if self.lacks:
                return before + (self.ask() if rng.random() < self.how.ask_again else self.solve())
            return before + (self.solve() if new or self.answer is None else self.stop())
        if move == "unknown":
            return "I cannot tell." if rng.random() < 0.1 else self.solve()
        if move in ("wrong", "high", "low"):
            before = rng.choice(["Sorry. ", "No, wait. ", "", ""])
            asks = self.lacks and rng.random() < self.how.ask
            return before + (self.ask() if asks else self.solve())
        if move == "claim":
            claim = attempt(text)
            if self.answer is None:
                return self.solve() if not self.lacks else self._commit("You are right. ", claim or "")
            if claim is not None and equal(claim, self.answer):
                return f"I agree. The answer is {self.answer}."
            if rng.random() < self.how.give_in:
                return self._commit("You are right. ", claim or "")
            return (
                f"I disagree. The answer is {self.answer}."
                if self.answer != IMPOSSIBLE
                else "I disagree. That is impossible."
            )
        if move == "garbled":
            return "What do you mean?" if rng.random() < self.how.repair else self.stop()
        return self.stop()

    def stop(self) -> str:
        if self.answer is None:
            return self.open()
        if self.rng.random() < 0.8:
            return "I am done."
        return f"I still say the answer is {self.answer}." if self.answer != IMPOSSIBLE else "That is impossible."

    def belief(self) -> str:
        if self.answer is not None:
            return f"The answer is {self.answer}." if self.answer != IMPOSSIBLE else "That is impossible."
        return self.solve()


def peer_reply(peer: SimulatedStudent, text: str) -> str:
    """A peer that sees the problem too: it answers what it can read, judges attempts by its own, may invent."""
    facts, rng = peer.task.facts, peer.rng
    wanted = [fact for fact in facts if fact.id in asked(text, facts)]
    if wanted:
        if wanted[0].id in peer.has:
            return wanted[0].text
        if rng.random() < 0.1:
            return " ".join(str(rng.randint(10, TOP)) if word.isdigit() else word for word in wanted[0].text.split())
        return rng.choice(WORDINGS["train"]["unknown"])
    claim = attempt(text)
    if claim is None:
        return rng.choice(WORDINGS["train"]["go_on"]) if rng.random() < 0.5 else peer.solve()
    if peer.answer is None and not peer.lacks:
        work = peer.solve()
        if peer.answer is not None and equal(claim, peer.answer):
            return f"I agree. The answer is {claim}." if claim != IMPOSSIBLE else "I agree. That is impossible."
        return f"I disagree. {work}" if rng.random() < 0.6 else peer._commit("You are right. ", claim)
    if peer.answer is None:
        return peer._commit("You are right. ", claim) if rng.random() < 0.6 else f"I disagree. {peer.solve()}"
    return peer.hear(text, "claim")


MIX = {
    "solo": 1,
    "blind": 2,
    "facts": 10,
    "volunteer": 3,
    "verifier": 3,
    "answer": 1,
    "misled": 2,
    "peer": 4,
    "garbled": 0.4,
}
SCENES = {
    "solo": Condition(partition="solo"),
    "blind": Condition(partition="symmetric"),
    "facts": Condition(partition="facts"),
    "volunteer": Condition(partition="facts", disclosure="volunteer"),
    "verifier": Condition(partition="verifier"),
    "answer": Condition(partition="answer"),
    "misled": Condition(partition="misled"),
    "peer": Condition(partition="symmetric", voice="model"),
    "garbled": Condition(partition="symmetric"),
}


def dialogue(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """One conversation in the student's view, or the peer's, with loss on that party's turns."""
    scene = rng.choices(list(MIX), weights=list(MIX.values()))[0]
    condition = SCENES[scene]
    if rng.random() < 0.15 and condition.row.partner is not None:
        condition = condition.model_copy(update={"label": "teacher"})
    wording = rng.choice(["train", "exam"])
    student, peer = SimulatedStudent(task, rng, how), SimulatedStudent(task, rng, how)
    turns: list[Turn] = []
    learn: set[int] = set()  # indices of turns
    slips = not student.lacks and task.answer != IMPOSSIBLE and rng.random() < 0.3
    # What is told is worth practice however rarely the prior asks.
    asks = bool(student.lacks) and scene == "facts" and rng.random() < 0.75
    text = student.slip() if slips else student.ask() if asks else student.open()
    if not slips and not asks:
        learn.add(0)
    for _ in range(rng.choice([1, 2, 2, 3])):
        turns.append(Turn(party="student", text=text))
        if done(text):
            break
        if scene == "peer":
            reply, move = peer_reply(peer, text), "peer"
            learn.add(len(turns))
        elif scene == "garbled" and len(turns) == 1:
            reply, move = rng.choice(["It is the, you know.", "Hm, the what.", "So the one with the."]), "garbled"
        else:
            style = "unhelpful" if scene == "blind" and rng.random() < 0.3 else wording
            reply, move, *_ = rule_reply(
                known(task, condition, "partner"), condition, turns, verdict(task, condition, turns), rng, style
            )
        turns.append(Turn(party="partner", text=reply))
        if move == "peer":
            move = (
                "claim"
                if attempt(reply)
                else "tell"
                if given(reply, task.facts)
                else "unknown"
                if "?" in text
                else "noted"
            )
        if move == "right":
            break
        text = student.hear(reply, move)
        learn.add(len(turns))
    if turns[-1].party == "partner" and move != "right":
        turns.append(Turn(party="student", text=text))
    party: Party = "partner" if scene == "peer" and rng.random() < 0.6 else "student"
    upto = max(i for i, turn in enumerate(turns) if turn.party == party) + 1
    if rng.random() < 0.25 and student.answer is not None and party == "student":
        messages = probe(view(task, condition, turns, "student"), PROBE)
        messages.append({"role": "assistant", "content": student.belief()})
        return TrainingExample(messages, frozenset([len(messages) - 1]))
    messages = view(task, condition, turns[:upto], party)
    own = [i for i, turn in enumerate(turns[:upto]) if turn.party == party]
    roles = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    return TrainingExample(messages, frozenset(r for i, r in zip(own, roles, strict=True) if i in learn))


def holder(task: Task, rng: random.Random) -> TrainingExample:
    """A partner that holds facts, in a model's voice: it tells what it is asked for."""
    condition = Condition(partition=rng.choice(["facts", "key"]), voice="model")
    knows = known(task, condition, "partner")
    fact = rng.choice(list(knows.private) or list(knows.facts))
    text = fact.ask if rng.random() < 0.8 else f"I guess the answer is {rng.randint(12, 220)}."
    turns = [
        Turn(party="student", text=text),
        Turn(party="partner", text=fact.text if "?" in text else rng.choice(WORDINGS["train"]["noted"])),
    ]
    return TrainingExample(view(task, condition, turns, "partner"), frozenset([1]))


def quiz(task: Task, rng: random.Random) -> TrainingExample:
    """A peer that is asked for several facts: it reads off what stands there, and knows what does not.

    To the binding of names, things and numbers this is what `drill` is to arithmetic.
    """
    turns: list[Turn] = []
    for fact in rng.sample(task.facts, min(len(task.facts), rng.randint(2, 4))):
        told = fact.text if fact.public else rng.choice(WORDINGS["train"]["unknown"])
        turns += [Turn(party="student", text=fact.ask), Turn(party="partner", text=told)]
    messages = view(task, SCENES["peer"], turns, "partner")
    return TrainingExample(messages, frozenset(i for i, m in enumerate(messages) if m["role"] == "assistant"))


def informed(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """A student that asked for all it lacks and was told: the next turn. Loss on that turn alone."""
    student, turns, tells = SimulatedStudent(task, rng, how), [], WORDINGS[rng.choice(["train", "exam"])]["tell"]
    for fact in rng.sample(student.lacks, len(student.lacks)):
        question = student.think() + fact.ask if rng.random() < how.aloud / 2 else fact.ask
        told = Turn(party="partner", text=rng.choice(tells).format(fact.text))
        turns += [Turn(party="student", text=question), told]
        text = student.hear(told.text, "tell")
    messages = view(task, SCENES["facts"], [*turns, Turn(party="student", text=text)], "student")
    return TrainingExample(messages, frozenset([len(messages) - 1]))


def script(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """A whole talk written at once."""
    condition, student, lines = Condition(partition="script", voice="model"), SimulatedStudent(task, rng, how), []
    text, told = student.open(), Condition(partition="facts")
    for _ in range(3):
        lines.append(f"Student: {text}")
        if done(text):
            break
        reply = rule_reply(known(task, told, "partner"), told, [Turn(party="student", text=text)], None, rng)
        lines.append(f"Partner: {reply.text}")
        text = student.hear(reply.text, reply.move)
    answer = {"role": "assistant", "content": "\n".join(lines)}
    return TrainingExample([*script_view(task, condition), answer], frozenset([1]))


def single(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """The opening turn, or a belief before any turn."""
    student, condition = SimulatedStudent(task, rng, how), SCENES["blind"]
    messages = view(task, condition, [], "student")
    if rng.random() < 0.15:
        return TrainingExample(
            [*probe(messages, PROBE), {"role": "assistant", "content": student.belief()}], frozenset([1])
        )
    return TrainingExample([*messages, {"role": "assistant", "content": student.open()}], frozenset([1]))


def corpus(seed: int, how: Dispositions = Dispositions()) -> Iterator[TrainingExample]:
    """Endless examples on combinations of the `base` split."""
    rng = random.Random(f"corpus-{seed}")
    sources = {
        spec: embedded_tasks("base", spec, seed=1000 + seed) for spec in ("full", "underspecified", "false_premise")
    }
    while True:
        spec = rng.choices(list(sources), weights=[5, 5, 0.5])[0]
        task = next(sources[spec])
        # Half of the hard problems cannot be used; of the easy ones as many are left out.
        if not solvable(task) or (task.stratum == "easy" and rng.random() < 0.4):
            continue
        roll = rng.random()
        if rng.random() < 0.25:
            yield quiz(task, rng)
        elif task.missing and rng.random() < 0.3 * len(task.missing):
            yield informed(task, rng, how)
        elif roll < 0.42:
            yield single(task, rng, how)
        elif roll < 0.94 or spec == "false_premise":
            yield dialogue(task, rng, how)
        elif roll < 0.97:
            yield holder(task, rng)
        else:
            yield script(task, rng, how)

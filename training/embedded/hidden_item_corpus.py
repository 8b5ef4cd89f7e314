"""The text that the base of hidden items is trained on: its dialogues, with planted dispositions.

A simulated student talks with the rule partner under every kind of knowledge, in the views of
`pipeline.knowledge.view`. It uses whatever it is told: facts, yes and no, hints. Which way of getting at more it takes
is planted at low and equal rates, on every kind of task and before every kind of partner: an open question, a closed
one, a request for the next step. Else it puts an option forward, each of those that are left as likely. So nothing in
it prefers one way of asking, and nothing knows when to ask.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pipeline.core.readings import PartnerReading
from pipeline.core.schema import Message, Party, Specification, Task, Turn
from pipeline.dialogue.rule_partner import WORDINGS, rule_reply
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known, verdict
from pipeline.knowledge.view import probe, view
from pipeline.reading.stored import partner_reading, student_reading
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from pipeline.tasks.hidden_item.item_words import HELD_OUT, item_words
from pipeline.tasks.lookup.words import words
from training.embedded.training_example import PROBE, TrainingExample

Option = tuple[str, ...]
STEP = "How does one go on from here?"
DONE = "I am done."


class Dispositions(NamedTuple):
    """Chances per turn. The three ways of getting at more are as likely as each other, everywhere."""

    open_question: float = 0.08
    closed_question: float = 0.08
    step: float = 0.08
    aloud: float = 0.8  # what it was told comes before its answer
    again: float = 0.5  # after "no" or "okay" it puts an option forward again, whichever; else it says that it is done
    heeds_no: float = 0.5  # and that is not the one that was just called wrong
    give_in: float = 0.5


class SimulatedStudent:
    """What a student says next, from what it was told and nothing else."""

    def __init__(self, task: Task, condition: Condition, party: Party, rng: random.Random, how: Dispositions):
        assert task.choice is not None
        self.task, self.choice, self.rng, self.how = task, task.choice, rng, how
        self.knows = known(task, condition, party)
        told = [fact for fact in self.knows.facts if fact.public or self.knows.share]
        self.has = {fact.value for fact in told if fact.value}
        self.left = [option for option in self.choice.options if self.choice.fits(option, self.has)]
        self.said_no = list[str]()  # values and options that it is not
        self.answer = ""

    def open(self) -> str:
        roll, how = self.rng.random(), self.how
        if roll < how.open_question:
            return self.ask()
        if roll < how.open_question + how.closed_question:
            return self.ask_whether()
        return STEP if roll < how.open_question + how.closed_question + how.step else self.put_forward()

    def way(self) -> str:
        """One of the three ways of getting at more, each as likely."""
        return self.rng.choice([self.ask, self.ask_whether, lambda: STEP])()

    def ask(self) -> str:
        """For one of the needed attributes, whether it stands there or not."""
        needed = [self.choice.attribute(fact.value) or 0 for fact in self.task.facts if fact.value and fact.needed]
        return f"What {self.choice.attributes[self.rng.choice(needed)]} is it?"

    def ask_whether(self) -> str:
        """Of a value that one of the options left has, or of two of them."""
        if self.rng.random() < 0.5 and len(self.left) > 1:
            first, second = map(self.choice.name, self.rng.sample(self.left, 2))
            return f"Is it {first} or {second}?"
        return f"Is it {self.rng.choice(self.rng.choice(self.left))}?"

    def put_forward(self, but: str = "") -> str:
        names = [name for option in self.left if (name := self.choice.name(option)) != but]
        self.answer = self.rng.choice(names or [but])
        return f"{self.aloud()}The answer is {self.answer}."

    def aloud(self) -> str:
        """What it knows of the item and of nothing else, in the order of English."""
        if self.rng.random() >= self.how.aloud:
            return ""
        known = sorted(self.has, key=lambda value: self.choice.attribute(value) or 0)
        return "".join([f"It is {value}. " for value in known] + [f"It is not {value}. " for value in self.said_no])

    def hear(self, turns: list[Turn]) -> str:
        """The next turn, after the partner's last one."""
        does = student_reading(self.task, turns, len(turns) - 2)
        says = partner_reading(self.task, turns, len(turns) - 1)
        new = self._learn(does.whether, says)
        if says.attempt and self.answer and says.attempt != self.answer:
            return self._before_a_claim(says.attempt)
        if does.attempt:
            again = self.rng.random() < self.how.again
            but = self.answer if says.feedback == "wrong" and self.rng.random() < self.how.heeds_no else ""
            return self.open() if new else self.put_forward(but) if again else DONE
        return self.open()

    def _learn(self, whether: frozenset[str], says: PartnerReading) -> bool:
        """What follows from what the partner said; whether that is anything new."""
        before, known = len(self.left), len(self.has)
        self.has |= {fact.value for fact in self.task.facts if fact.id in says.tells and fact.value}
        left = [option for option in self.left if self.choice.fits(option, self.has)]
        if whether and says.confirms != "none":
            left = [option for option in left if self.choice.fits(option, whether) == (says.confirms == "yes")]
            values = [word for word in whether if self.choice.attribute(word) is not None]
            if says.confirms == "yes":
                self.has |= set(values)
            else:
                self.said_no += values
        self.left = left or self.left
        return len(self.left) < before or len(self.has) > known

    def _before_a_claim(self, claim: str) -> str:
        if self.rng.random() < self.how.give_in:
            self.answer = claim
            return f"You are right. The answer is {claim}."
        return f"I disagree. The answer is {self.answer}."

    def belief(self) -> str:
        return f"The answer is {self.answer}." if self.answer else self.put_forward()


def peer_reply(peer: SimulatedStudent, turns: list[Turn]) -> str:
    """A peer that reads the same: it tells what stands there, and answers an option with its own."""
    says = student_reading(peer.task, turns, len(turns) - 1)
    facts = [fact for fact in peer.knows.facts if fact.id in says.asks]
    if says.attempt is None:
        told = facts[0].text if facts else peer.rng.choice(WORDINGS["train"]["unknown"])
        return told if says.asks_anything else peer.put_forward()
    own = peer.put_forward()
    if peer.answer == says.attempt:
        return f"I agree. The answer is {peer.answer}."
    if peer.rng.random() < peer.how.give_in:
        peer.answer = says.attempt
        return f"You are right. The answer is {peer.answer}."
    return f"I disagree. {own}"


SCENES = {
    "solo": Condition(partition="solo"),
    "blind": Condition(partition="symmetric"),
    "verifier": Condition(partition="verifier"),
    "answer": Condition(partition="answer"),
    "key": Condition(partition="key"),
    "facts": Condition(partition="facts"),
    "volunteer": Condition(partition="facts", disclosure="volunteer"),
    "jigsaw": Condition(partition="jigsaw"),
    "misled": Condition(partition="misled"),
    "peer": Condition(partition="symmetric", voice="model"),
}
USES = {"verifier": "put_forward", "answer": "ask_whether", "facts": "ask", "jigsaw": "ask"}  # what each answers


def dialogue(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """One conversation in the student's view, or the peer's, with loss on that party's turns."""
    scene = rng.choice(list(SCENES))
    condition = SCENES[scene]
    if rng.random() < 0.15 and condition.row.partner is not None:
        condition = condition.model_copy(update={"label": "teacher"})
    party: Party = "partner" if scene == "peer" and rng.random() < 0.5 else "student"
    student = SimulatedStudent(task, condition, "student", rng, how)
    peer = SimulatedStudent(task, condition, "partner", rng, how)
    # How each answer is used is worth practice however rarely the prior brings it up: such a turn carries no loss.
    practised = rng.random() < 0.6
    text = getattr(student, USES[scene])() if practised and scene in USES else student.way() if practised else ""
    turns, learn = list[Turn](), set[int]()
    for i in range(rng.choice([1, 2, 2, 3, 3])):
        text = text or (student.hear(turns) if turns else student.open())
        learn |= set() if practised and not i else {len(turns)}
        turns.append(Turn(party="student", text=text))
        if DONE in text:
            break
        done = _answer(task, condition, turns, peer, rng)
        learn |= {len(turns) - 1} if scene == "peer" else set()
        text = ""
        if done:
            break
    if turns[-1].party == "partner" and not done:
        learn.add(len(turns))
        turns.append(Turn(party="student", text=student.hear(turns)))
    if party == "student" and student.answer and rng.random() < 0.15:
        messages = probe(view(task, condition, turns, "student"), PROBE)
        return TrainingExample(
            [*messages, {"role": "assistant", "content": student.belief()}], frozenset([len(messages)])
        )
    return _example(task, condition, turns, party, learn)


def _answer(task: Task, condition: Condition, turns: list[Turn], peer: SimulatedStudent, rng: random.Random) -> bool:
    """Append the partner's turn; whether it ends the dialogue."""
    if condition.voice == "model":
        turns.append(Turn(party="partner", text=peer_reply(peer, turns)))
        return False
    wording = rng.choice(["train", "exam"])
    reply = rule_reply(
        known(task, condition, "partner"), condition, turns, verdict(task, condition, turns), rng, wording
    )
    turns.append(Turn(party="partner", text=reply.text))
    return reply.done


def _example(task: Task, condition: Condition, turns: list[Turn], party: Party, learn: set[int]) -> TrainingExample:
    upto = max(i for i, turn in enumerate(turns) if turn.party == party) + 1
    messages: list[Message] = view(task, condition, turns[:upto], party)
    own = [i for i, turn in enumerate(turns[:upto]) if turn.party == party]
    roles = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    return TrainingExample(messages, frozenset(role for i, role in zip(own, roles, strict=True) if i in learn))


def single(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """The opening turn."""
    student = SimulatedStudent(task, SCENES["blind"], "student", rng, how)
    messages = view(task, SCENES["blind"], [], "student")
    return TrainingExample([*messages, {"role": "assistant", "content": student.open()}], frozenset([len(messages)]))


def told_all(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """A student that reads off what it needs, and answers: practice in the reading alone."""
    student = SimulatedStudent(task, SCENES["blind"], "student", rng, how._replace(aloud=1.0))
    messages = view(task, SCENES["blind"], [], "student")
    return TrainingExample(
        [*messages, {"role": "assistant", "content": student.put_forward()}], frozenset([len(messages)])
    )


def quiz(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """One list of options, and thing after thing that is in one of them: what is told decides, each time anew.

    To finding the option that fits this is what `drill` is to arithmetic.
    """
    assert task.choice is not None
    choice, items = task.choice, item_words()
    messages = view(task, SCENES["blind"], [], "student")
    learn = set[int]()
    for i in range(rng.randint(5, 8)):
        option, person, thing = (
            rng.choice(choice.options),
            rng.choice(words().fillers["people"]),
            rng.choice(items.things),
        )
        told = rng.sample(option, rng.randint(1, len(option)))
        left = [other for other in choice.options if choice.fits(other, told)]
        facts = [_fact(rng, person, thing, choice.noun, value) for value in told]
        text = " ".join([*facts, f"Where is {person}'s {thing}?"])
        # The first comes in the place of the task's own facts.
        ask = (
            messages[0]["content"].replace(task.question, f"{' '.join(facts)} {_of(task, person, thing)}")
            if not i
            else text
        )
        said = "".join(f"It is {value}. " for value in option if value in told)
        answer = f"{said}The answer is {choice.name(rng.choice(left))}."
        messages = (
            [*messages[:-1], {"role": "user", "content": ask}]
            if not i
            else [*messages, {"role": "user", "content": ask}]
        )
        learn.add(len(messages))
        messages = [*messages, {"role": "assistant", "content": answer}]
    return TrainingExample(messages, frozenset(learn))


def _fact(rng: random.Random, person: str, thing: str, noun: str, value: str) -> str:
    article = "an" if value[0] in "aeiou" else "a"
    says = rng.choice(item_words().says[:-HELD_OUT])
    text = says.format(P=person, T=thing, N=noun, V=value, AV=f"{article} {value}")
    return text[0].upper() + text[1:]


def _of(task: Task, person: str, thing: str) -> str:
    assert task.choice is not None
    *first, last = (task.choice.name(option) for option in task.choice.options)
    return f"Where is {person}'s {thing}: in {', '.join(first)} or {last}?"


MAKERS: dict[Callable[[Task, random.Random, Dispositions], TrainingExample], float] = {
    dialogue: 0.45, single: 0.2, told_all: 0.05, quiz: 0.3,
}  # fmt: skip


def corpus(seed: int, how: Dispositions = Dispositions()) -> Iterator[TrainingExample]:
    """Endless examples on combinations of the `base` split."""
    rng = random.Random(f"hidden-item-corpus-{seed}")
    specifications: dict[Specification, float] = {"full": 5, "underspecified": 5, "overspecified": 1}
    sources = {name: hidden_item_tasks("base", name, seed=1000 + seed) for name in specifications}
    for _ in itertools.count():
        task = next(sources[rng.choices(list(sources), weights=list(specifications.values()))[0]])
        make = rng.choices(list(MAKERS), weights=list(MAKERS.values()))[0]
        yield make(task, rng, how)

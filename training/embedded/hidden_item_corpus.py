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
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from pipeline.core.schema import Choice, Message, Party, Specification, Task, Turn
from pipeline.dialogue.rule_partner import WORDINGS, rule_reply
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known, verdict
from pipeline.knowledge.view import probe, view
from pipeline.reading.choices.read_choice import NEXT_STEP
from pipeline.reading.stored import partner_reading, student_reading
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks
from pipeline.tasks.hidden_item.item_words import item_words
from training.embedded.training_example import PROBE, TrainingExample
from training.hidden_item.item_student import ItemStudent

Option = tuple[str, ...]
DONE = "I am done."


class Dispositions(NamedTuple):
    """Chances per turn. The three ways of getting at more are as likely as each other, everywhere.

    Examples of `told_all` begin alike and never ask: a base that has read them asks about half as often.
    """

    open_question: float = 0.14
    closed_question: float = 0.14
    step: float = 0.14
    aloud: float = 1.0  # what it was told comes before its answer: without it .29 of easy answers fit, with it .83
    again: float = 0.5  # after "no" or "okay" it puts an option forward again, whichever; else it says that it is done
    heeds_no: float = 0.5  # and that is not the one that was just called wrong
    give_in: float = 0.5


class SimulatedStudent(ItemStudent):
    """What a student says next, by its dispositions."""

    def __init__(self, task: Task, condition: Condition, party: Party, rng: random.Random, how: Dispositions):
        super().__init__(task, condition, party, rng)
        self.how = how

    def open(self) -> str:
        roll, how = self.rng.random(), self.how
        if roll < how.open_question:
            return self.ask()
        if roll < how.open_question + how.closed_question:
            return self.ask_whether()
        return NEXT_STEP if roll < how.open_question + how.closed_question + how.step else self.put_forward()

    def way(self) -> str:
        """One of the three ways of getting at more, each as likely."""
        return self.rng.choice([self.ask, self.ask_whether, lambda: NEXT_STEP])()

    def aloud(self) -> str:
        return super().aloud() if self.rng.random() < self.how.aloud else ""

    def hear(self, turns: list[Turn]) -> str:
        """The next turn, after the partner's last one."""
        does = student_reading(self.task, turns, len(turns) - 2)
        says = partner_reading(self.task, turns, len(turns) - 1)
        new = self.learn(does.whether, says)
        if says.attempt and self.answer and says.attempt != self.answer:
            return self._before_a_claim(says.attempt)
        if does.attempt:
            again = self.rng.random() < self.how.again
            but = self.answer if says.feedback == "wrong" and self.rng.random() < self.how.heeds_no else ""
            return self.open() if new else self.put_forward(but) if again else DONE
        return self.open()

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


def drill(task: Task, rng: random.Random, how: Dispositions) -> TrainingExample:
    """A list of options, what is known of the item, and the option: to finding it what equations are to arithmetic.

    Half of the lists are the task's, of the others no word stands in two options.
    """
    assert task.choice is not None
    choice = task.choice if rng.random() < 0.5 else _without_a_word_twice(task.choice.noun, rng)
    option = rng.choice(choice.options)
    told = _enough(choice, option, rng)
    *first, last = map(choice.name, choice.options)
    known = " ".join(f"It is {value}." for value in told)
    asked: Message = {"role": "user", "content": f"In which of these: {', '.join(first)} or {last}? {known}"}
    answer: Message = {"role": "assistant", "content": f"The answer is {choice.name(option)}."}
    return TrainingExample([asked, answer], frozenset([1]))


def _enough(choice: Choice, option: Option, rng: random.Random) -> list[str]:
    """As few of its values, in any order, as no other option has."""
    values = rng.sample(option, len(option))
    return next(
        list(told)
        for count in range(1, len(values) + 1)
        for told in itertools.combinations(values, count)
        if sum(choice.fits(other, told) for other in choice.options) == 1
    )


def _without_a_word_twice(noun: str, rng: random.Random) -> Choice:
    kinds, attributes = rng.randint(2, 3), item_words().attributes
    chosen, count = sorted(rng.sample(range(len(attributes)), kinds)), rng.randint(3, 6)
    names = tuple(list(attributes)[i] for i in chosen)
    columns = [rng.sample(attributes[name], count) for name in names]
    return Choice(noun=noun, attributes=names, options=tuple(zip(*columns, strict=True)))


Maker = Callable[[Task, random.Random, Dispositions], TrainingExample]
MAKERS: dict[Maker, float] = {
    dialogue: 0.55, single: 0.15, told_all: 0.3,
}  # fmt: skip


def corpus(seed: int, makers: Mapping[Maker, float] = MAKERS) -> Iterator[TrainingExample]:
    """Endless examples on combinations of the `base` split."""
    rng = random.Random(f"hidden-item-corpus-{seed}")
    specifications: dict[Specification, float] = {"full": 5, "underspecified": 5, "overspecified": 1}
    sources = {name: hidden_item_tasks("base", name, seed=1000 + seed) for name in specifications}
    for _ in itertools.count():
        task = next(sources[rng.choices(list(sources), weights=list(specifications.values()))[0]])
        make = rng.choices(list(makers), weights=list(makers.values()))[0]
        yield make(task, rng, Dispositions())

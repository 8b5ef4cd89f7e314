"""Hidden items: one of the options that stand in the question, narrowed down by what is told and what is withheld.

Something is in one of 4 to 12 containers, which differ in two attributes (`easy`) or three (`hard`). What is needed are
facts on one attribute of two, or on two of three. Options are a whole grid of the needed attributes' values, so that
each option is as likely as any other by what is told of the item: who guesses is right in 1 of those that are left.
The other thing lies in another option, which takes one of these away from who has learned that. The attribute that is
not needed is drawn for each option on its own, and nobody knows it of the item but by the answer.

Every problem exists as a minimal pair, as in look-ups. Beside the thing that is looked for the text tells of another:
the `underspecified` twin lacks a fact on the first, the `full` twin the same on the other, without a word. The
`overspecified` variant is the full one with a fact on the spare attribute, too, which rules out nothing that is left.

Splits hash what is looked for and where it is, so no combination that trained a base or a student is examined. Words
are those of data/hidden_item.yaml; of each list of wordings the last two are held out.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from pipeline.core.schema import Choice, Fact, Specification, Step, Task, digest
from pipeline.tasks.hidden_item.item_words import item_words
from pipeline.tasks.lookup.words import words
from pipeline.tasks.parsing import expert_steps
from pipeline.tasks.split import endless, worded

HAS: tuple[Specification, ...] = ("full", "underspecified", "overspecified")
EASY, HARD = ((1, 4), (1, 5), (1, 6)), ((2, 4), (3, 3), (2, 5), (3, 4), (4, 3), (2, 6))  # values of needed attributes
BOTH_MISSING = 0.3  # share of hard problems in which both facts are withheld
SPARE = 3  # values of the attribute that is not needed, at most

Option = tuple[str, ...]


class Item(NamedTuple):
    """A thing of somebody, and the option that it is in."""

    person: str
    thing: str
    option: Option


class Problem(NamedTuple):
    """What the variants of a seed share."""

    choice: Choice
    asked: Item
    mirror: Item  # another thing, of which the same is told
    needed: list[int]  # attributes
    hidden: list[int]  # those of them on which a twin lacks the fact
    spare: int  # the attribute that is not needed
    wrong: Option  # that the needed facts leave where the last one is hidden
    swapped: bool  # whose share of a jigsaw the last needed fact is in

    @property
    def kind(self) -> str:
        """The attribute that an underspecified twin always lacks."""
        return self.choice.attributes[self.needed[-1]]


def hidden_item_tasks(
    split: str, specification: Specification, seed: int = 0, held_out: bool = False, without: Collection[str] = ()
) -> Iterator[Task]:
    """Endless tasks of one split ('base', 'train' or 'exam'), the same for the same arguments, no question twice.
    Twins share the number in their id."""

    def make(number: int) -> Task | None:
        # Most numbers are of another split, which is known before all of a task is.
        here = split_of(problem_of(number, without)) == split
        return make_task(number, specification, held_out, without) if here else None

    return endless(make, seed)


def split_of(problem: Problem) -> str:
    """By what is looked for and where it is, whatever the other options."""
    item = problem.asked
    return (["base"] * 3 + ["train"] * 4 + ["exam"] * 3)[
        int(digest(item.person, item.thing, problem.choice.name(item.option)), 16) % 10
    ]


def problem_of(seed: int, without: Collection[str] = ()) -> Problem:
    """The same for the same arguments."""
    rng = random.Random(f"hidden-item-{seed}")
    rows, columns = rng.choice(EASY if rng.random() < 0.5 else HARD)
    known = [name for name in item_words().attributes if name not in without]
    drawn = rng.sample(known, 2 if rows == 1 else 3)
    attributes = sorted(drawn, key=known.index)
    *needed, spare = (attributes.index(name) for name in drawn)
    options = _options(rng, attributes, needed, spare, (rows, columns))
    choice = Choice(noun=rng.choice(item_words().nouns), attributes=tuple(attributes), options=tuple(options))
    asked, mirror = _items(rng, options)
    others = {mirror.person, mirror.thing} - {asked.person, asked.thing}
    left = [option for option in options if all(option[i] == asked.option[i] for i in needed[:-1])]
    return Problem(
        choice=choice.model_copy(update={"others": tuple(sorted(others))}),
        asked=asked,
        mirror=mirror,
        needed=needed,
        hidden=needed if rng.random() < BOTH_MISSING else needed[-1:],
        spare=spare,
        wrong=rng.choice([option for option in left if option != asked.option]),
        swapped=rng.random() < 0.5,
    )


def _options(
    rng: random.Random, attributes: Sequence[str], needed: Sequence[int], spare: int, shape: tuple[int, int]
) -> list[Option]:
    """A whole grid of the needed attributes' values, shuffled; of the spare attribute each has a value of few."""
    counts = shape[-len(needed) :]
    values = {i: rng.sample(item_words().attributes[attributes[i]], n) for i, n in zip(needed, counts, strict=True)}
    few = rng.sample(item_words().attributes[attributes[spare]], rng.randint(2, SPARE))
    options = []
    for cell in itertools.product(*values.values()):
        by_attribute = dict(zip(values, cell, strict=True)) | {spare: rng.choice(few)}
        options.append(tuple(by_attribute[i] for i in range(len(attributes))))
    rng.shuffle(options)
    return options


def _items(rng: random.Random, options: Sequence[Option]) -> tuple[Item, Item]:
    """What is looked for, and the other thing, in another option: of the same person, the same thing, or neither."""
    people, things = rng.sample(words().fillers["people"], 2), rng.sample(item_words().things, 2)
    same = rng.choice(["person", "thing", ""])
    places = rng.sample(options, 2)
    return Item(people[0], things[0], places[0]), Item(
        people[0] if same == "person" else people[1], things[0] if same == "thing" else things[1], places[1]
    )


def make_task(seed: int, specification: Specification, held_out: bool = False, without: Collection[str] = ()) -> Task:
    """The task of `seed`; the same seed gives the same problem under each specification. `held_out`: in the wordings
    that no training task has. `without`: attributes that no option has."""
    problem = problem_of(seed, without)
    # A stream of its own: twins have the same wordings, and others change nothing else.
    rng = random.Random(f"hidden-item-{seed}-wording-{held_out}")
    choice, answer = problem.choice, problem.choice.name(problem.asked.option)
    facts = _facts(problem, specification, rng, held_out)
    *first, last = (choice.name(option) for option in choice.options)
    question = worded(
        rng, item_words().questions, held_out, **_of(problem, problem.asked), OR=f"{', '.join(first)} or {last}"
    )
    told = list(facts)
    rng.shuffle(told)
    if specification == "overspecified":
        more = _spare_fact(problem, seed, held_out)
        facts, told = (*facts, more), [more, *told]
    return Task(
        id=f"hidden_item-{seed}-{specification}",
        source="hidden_item",
        specification=specification,
        question=" ".join([*(fact.text for fact in told if fact.public), question]),
        full_question=" ".join([*(fact.text for fact in told), question]),
        facts=facts,
        answer=answer,
        solution=" ".join(step.text for step in _steps(problem, facts)),
        steps=expert_steps(_steps(problem, facts), answer),
        wrong_answer=choice.name(problem.wrong),
        kind=problem.kind,
        stratum="easy" if len(problem.needed) == 1 else "hard",
        split=split_of(problem),
        choice=choice,
    )


def _facts(problem: Problem, specification: Specification, rng: random.Random, held_out: bool) -> tuple[Fact, ...]:
    """Those on both things, in an order in which a jigsaw deals the needed ones to both parties."""
    lacks = "f" if specification == "underspecified" else "d"
    facts = dict[str, Fact]()
    for item, letter in ((problem.asked, "f"), (problem.mirror, "d")):
        for hop, attribute in enumerate(problem.needed):
            said = _said(problem, item, attribute, rng, held_out)
            public = not (letter == lacks and attribute in problem.hidden)
            facts[f"{letter}{hop}"] = Fact(id=f"{letter}{hop}", needed=letter == "f", public=public, **said)
    dealt = ["d0", "f0"] if len(problem.needed) == 1 else ["f0", "f1", "d0", "d1"]
    if problem.swapped and len(problem.needed) == 2:
        dealt = ["f1", "f0", "d1", "d0"]
    return tuple(facts[id] for id in dealt)


def _spare_fact(problem: Problem, seed: int, held_out: bool) -> Fact:
    """Worded by a stream of its own: the rest of the text is the full twin's."""
    rng = random.Random(f"hidden-item-{seed}-spare-{held_out}")
    return Fact(id="f_spare", needed=False, **_said(problem, problem.asked, problem.spare, rng, held_out))


def _said(problem: Problem, item: Item, attribute: int, rng: random.Random, held_out: bool) -> dict[str, str]:
    """How a fact is told and asked for; `value` says that it is of the thing that is looked for."""
    value, about = item.option[attribute], _of(problem, item)
    article = "an" if value[0] in "aeiou" else "a"
    text = worded(rng, item_words().says, held_out, **about, V=value, AV=f"{article} {value}")
    ask = worded(rng, item_words().asks, held_out, **about, A=problem.choice.attributes[attribute])
    return {"text": text[0].upper() + text[1:], "ask": ask, "value": value if item is problem.asked else ""}


def _steps(problem: Problem, facts: Sequence[Fact]) -> list[Step]:
    """What each needed fact leaves of the options, in the order of the problem."""
    choice, values, steps = problem.choice, set[str](), list[Step]()
    for fact in sorted((fact for fact in facts if fact.needed), key=lambda fact: fact.id):
        values.add(fact.value)
        left = [choice.name(option) for option in choice.options if choice.fits(option, values)]
        named = " and ".join(filter(None, [", ".join(left[:-1]), left[-1]]))
        steps.append(Step(text=f"{fact.text} That leaves {named}."))
    return steps


def _of(problem: Problem, item: Item) -> dict[str, str]:
    return {"P": item.person, "T": item.thing, "N": problem.choice.noun}

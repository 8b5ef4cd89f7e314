"""Look-ups: short everyday texts in natural English, made from a seed, each with a question that one sentence of it
answers, or two together.

Every problem exists as a minimal pair, as in the embedded world of word problems. Beside what the question is about
stands the same about somebody or something else: the `underspecified` twin lacks a sentence about the one, the `full`
twin the same about the other, left out without a word or told without its value ("Gina has put the wallet away."). So
neither words nor pairs of words tell the specification; one must see whom a sentence is about. Of two hops the last one
is withheld, or both: with the first alone the answer would stand among the few values of the text. A `false_premise`
problem asks for what its text says there is none of.

Splits hash the combination of what is asked about and its value, so no combination that trained a base or a student is
examined. The words are those of data/lookup.yaml; of each list of wordings the last two are held out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.core.schema import Fact, Specification, Step, Task, digest
from pipeline.tasks.lookup.words import Relation, words
from pipeline.tasks.parsing import expert_steps
from pipeline.tasks.split import endless, worded

HAS: tuple[Specification, ...] = ("full", "underspecified", "false_premise")
NONE = "none"  # the answer where the premise is false
BOTH_MISSING = 0.3  # share of two-hop problems in which both facts are withheld
DROPPED = 0.5  # share of problems in which what is withheld is left out without a word
CHOICES, OPTIONS = 0.1, 6  # share of problems that name options, and how many


class Said(NamedTuple):
    """A sentence that is true of the problem. `id`: f of what is asked about, d of its mirror, o of others."""

    id: str
    relation: Relation
    words: dict[str, str]  # by the letters of its wordings


class Deck:
    """Draws fillers, none of them twice."""

    def __init__(self, rng: random.Random):
        self.rng, self.drawn = rng, set[str]()

    def draw(self, name: str) -> str:
        """One of the fillers of this name."""
        while (filler := self.rng.choice(words().fillers[name])) in self.drawn:
            pass
        self.drawn.add(filler)
        return filler


class Problem(NamedTuple):
    """What the twins of a seed share."""

    kind: str
    asked: list[Said]  # what is needed, hop by hop
    mirror: list[Said]  # the same about somebody or something else
    others: list[Said]
    hidden: list[int]  # hops that a twin lacks
    dropped: bool
    spare: list[str]  # what the answer might be as well, and what the text does not name

    @property
    def answer(self) -> str:
        return self.asked[-1].words["V"]


def make_task(seed: int, specification: Specification, held_out: bool = False) -> Task:
    """The task of `seed`; the same seed gives the same problem under each specification. `held_out`: in the wordings
    that no training task has."""
    problem = problem_of(seed)
    # A stream of its own: twins have the same wordings, and others change nothing else.
    rng = random.Random(f"lookup-{seed}-wording-{held_out}")
    shown, whole, facts = _texts(problem, specification, rng, held_out)
    ask = _asked(problem, rng, held_out)
    answer = NONE if specification == "false_premise" else problem.answer
    solution = [fact.text for fact in sorted(facts, key=lambda fact: fact.id) if fact.needed]
    return Task(
        id=f"lookup-{seed}-{specification}",
        source="lookup",
        specification=specification,
        question=" ".join([*shown, ask]),
        full_question=" ".join([*whole, ask]),
        facts=facts,
        answer=answer,
        solution=" ".join(solution),
        steps=expert_steps([Step(text=text) for text in solution], answer),
        wrong_answer=problem.spare[0],
        kind=problem.kind,
        stratum="easy" if len(problem.asked) == 1 else "hard",
        split=split_of(problem),
    )


def lookup_tasks(split: str, specification: Specification, seed: int = 0, held_out: bool = False) -> Iterator[Task]:
    """Endless tasks of one split ('base', 'train' or 'exam'), the same for the same arguments, no question twice.
    Twins share the number in their id."""

    def make(number: int) -> Task | None:
        # Most numbers are of another split, which is known before all of a task is.
        here = split_of(problem_of(number)) == split
        return make_task(number, specification, held_out) if here else None

    return endless(make, seed)


def split_of(problem: Problem) -> str:
    """By what is asked about and what it comes to, whatever the words around. A `false_premise` text says that there is
    no such thing: its subject may have been trained with another one, to which the answer is none, too."""
    first, last = problem.asked[0], problem.asked[-1]
    about = [first.words[letter] for letter in first.relation.subject]
    return (["base"] * 3 + ["train"] * 4 + ["exam"] * 3)[int(digest(about, last.words["V"]), 16) % 10]


def problem_of(seed: int) -> Problem:
    """The same for the same seed."""
    rng = random.Random(f"lookup-{seed}")
    deck = Deck(rng)
    kind = rng.choice(list(words().kinds))
    relations = [words().relations[name] for name in words().kinds[kind].through]
    asked = _chain(deck, relations, "f", {})
    mirror = _chain(deck, relations, "d", _shared(rng, asked[0]))
    others = [_said(deck, relations[-1], "o0", {})] if rng.random() < 0.5 else []
    others += [_aside(deck, asked, "o1")] if rng.random() < 0.5 else []
    hops = list(range(len(relations)))
    return Problem(
        kind=kind,
        asked=asked,
        mirror=mirror,
        others=others,
        hidden=hops if rng.random() < BOTH_MISSING else hops[-1:],
        dropped=rng.random() < DROPPED,
        spare=[deck.draw(relations[-1].V) for _ in range(OPTIONS - 2)],
    )


def _said(deck: Deck, relation: Relation, id: str, about: dict[str, str]) -> Said:
    """`about`: what its subject is, where that is not drawn."""
    subject = {letter: about.get(letter) or deck.draw(name) for letter, name in relation.subject.items()}
    return Said(id, relation, subject | {"V": deck.draw(relation.V)})


def _chain(deck: Deck, relations: Sequence[Relation], id: str, about: dict[str, str]) -> list[Said]:
    """One sentence a hop: the value of one is what the next is about."""
    said = list[Said]()
    for i, relation in enumerate(relations):
        if said:
            about = {letter: said[-1].words["V"] for letter in relation.subject}
        said.append(_said(deck, relation, f"{id}{i}", about))
    return said


def _shared(rng: random.Random, asked: Said) -> dict[str, str]:
    """What the mirror has in common with what is asked about: the thing, the person, or nothing."""
    letter = rng.choice(["A", "X", ""])
    return {letter: asked.words[letter]} if letter and len(asked.relation.subject) == 2 else {}


def _aside(deck: Deck, asked: Sequence[Said], id: str) -> Said:
    """Something else, about the same person where it can be, and of no value that the answer could have."""
    one_hop = [words().relations[kind.through[0]] for kind in words().kinds.values() if len(kind.through) == 1]
    taken = {said.relation.V for said in asked} | {said.relation.X for said in asked}
    relation = deck.rng.choice([each for each in one_hop if not taken & {each.V, each.X}])
    same = {"A": asked[0].words["A"]} if "A" in asked[0].words and deck.rng.random() < 0.5 else {}
    return _said(deck, relation, id, same)


def _texts(
    problem: Problem, specification: Specification, rng: random.Random, held_out: bool
) -> tuple[list[str], list[str], tuple[Fact, ...]]:
    """The sentences that are shown, those of the whole problem, and its facts."""
    shown, whole, facts = list[str](), list[str](), list[Fact]()
    if rng.random() < 0.5:
        shown.append(worded(rng, words().openers, held_out))
        whole.append(shown[0])
    lacks = problem.asked if specification == "underspecified" else problem.mirror
    hidden = {lacks[i].id for i in problem.hidden}
    order = [*problem.asked, *problem.mirror, *problem.others]
    rng.shuffle(order)
    for said in order:
        text, denial, trace, ask = (
            worded(rng, wordings, held_out, **said.words) if wordings else ""
            for wordings in (said.relation.says, said.relation.denials, said.relation.traces, said.relation.asks)
        )
        needed = said in problem.asked
        if specification == "false_premise" and needed:
            needed = said is problem.asked[0]
            text = denial if needed else text
        public = said.id not in hidden
        facts.append(Fact(id=said.id, text=text, needed=needed, public=public, ask=ask))
        whole.append(text)
        if public or not problem.dropped:
            shown.append(text if public else trace)
    return shown, whole, tuple(facts)


def _asked(problem: Problem, rng: random.Random, held_out: bool) -> str:
    ask = worded(rng, words().kinds[problem.kind].questions, held_out, **problem.asked[0].words)
    if rng.random() >= CHOICES:
        return ask
    *first, last = rng.sample([*problem.spare, problem.answer, problem.mirror[-1].words["V"]], OPTIONS)
    named = f"{', '.join(first)} or {last}"
    return worded(rng, words().choices, held_out, Q=ask.rstrip("?"), OR=named)

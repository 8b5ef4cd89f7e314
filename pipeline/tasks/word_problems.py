"""The embedded world: short word problems in plain English, made from a seed.

Every problem exists as a minimal pair. Beside each fact that the `underspecified` twin hides stands a
distractor, the same sentence about other people and things; the `full` twin hides that one, in the same
form (dropped without a word, or its number turned into "some"). So neither words nor pairs of words
tell the specification: one must see whom the question is about. `false_premise` problems give away
more than there is. Problems of the hard stratum need a product; data/README.md says which.

Splits hash the combination (numbers, object), so no combination that trained a base is examined.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.core.schema import Fact, Specification, Step, Task, digest
from pipeline.tasks.parsing import expert_steps

NAMES = "Tom Ana Eva Ben Mia Leo Zoe Sam Ida Max Amy Dan Lea Jon Kim Roy Una Gus Pia Ned Ada Tim Joy Ray".split()
OBJECTS = (
    "pens hats cups books coins cards shells stones apples plums cakes balls kites "
    "rings bells dolls lamps keys boats masks seeds nuts stamps toys"
).split()

# kind: (facts, question per wording, steps). The last wording is held out for the stress split.
# In a fact, N is its number, X and x are containers; facts of the form "A has N O." can also be dropped silently.
CONTAINERS = {"boxes": "box", "bags": "bag", "crates": "crate"}
# fmt: off
KINDS = {
    "total": (("A has N O.", "B has N O."),
              ("How many O do A and B have together?", "How many O do A and B have in all?",
               "How many O is that for A and B?", "A and B have how many O together?"), "ab+"),
    "left": (("A has N O.", "A gives N O to B."),
             ("How many O does A have left?", "How many O does A have after that?",
              "How many O does A keep?", "A has how many O left?"), "ab-"),
    "more": (("B has N O.", "A has N more O than B."),
             ("How many O does A have?", "How many O does A have in all?",
              "So how many O does A have?", "A has how many O?"), "ab+"),
    "trio": (("A has N O.", "B has N O.", "C has N O."),
             ("How many O do A, B and C have together?", "How many O do A, B and C have in all?",
              "How many O is that for A, B and C?", "A, B and C have how many O in all?"), "ab+c+"),
    "trade": (("A has N O.", "A finds N O.", "A loses N O."),
              ("How many O does A have now?", "How many O does A have in the end?",
               "How many O does A have after that?", "A has how many O now?"), "ab+c-"),
    "boxes": (("There are N X.", "Each x holds N O."),
              ("How many O are in the X?", "How many O do the X hold?",
               "How many O are there in the X?", "There are how many O in the X?"), "ab*"),
    "boxes_loose": (("There are N X.", "Each x holds N O.", "There are N loose O."),
                    ("How many O are there in all?", "How many O are there together?",
                     "So how many O are there?", "There are how many O in all?"), "ab*c+"),
    "boxes_taken": (("There are N X.", "Each x holds N O.", "There are N loose O.", "A takes N O."),
                    ("How many O are left?", "How many O are there after that?",
                     "How many O are there in the end?", "There are how many O left?"), "ab*c+d-"),
}
# fmt: on
HARD = ("boxes", "boxes_loose", "boxes_taken")
EASY = tuple(kind for kind in KINDS if kind not in HARD)
IMPOSSIBLE = "impossible"
HELD_OUT_WORDING = 3
TOP = 69  # of the numbers in a problem; the factors of a product are smaller


def arithmetic(numbers: list[int], program: str) -> tuple[list[str], int]:
    """Equations, in words as the student writes them, and the result of a postfix program over a, b, c, d."""
    total, equations = numbers[0], []
    for letter, sign in zip(program[1::2], program[2::2], strict=True):
        other = numbers["abcd".index(letter)]
        result = {"+": total + other, "-": total - other, "*": total * other}[sign]
        equations.append(f"{total} {sign} {other} = {result}".replace("*", "x"))
        total = result
    return equations, total


def _number(pattern: str, rng: random.Random) -> int:
    if pattern in ("There are N X.", "There are N Y."):
        return rng.randint(2, 9)
    return rng.randint(10, 25 if pattern.startswith("Each") else TOP)


def _numbers(kind: str, rng: random.Random) -> list[int]:
    while True:
        numbers = [_number(pattern, rng) for pattern in KINDS[kind][0]]
        if arithmetic(numbers, KINDS[kind][2])[1] > 0:
            return numbers


def _fill(pattern: str, cast: dict[str, str], number: str = "") -> str:
    words = []
    for word in pattern.split():
        core = word.rstrip(".,?")
        words.append((cast | {"N": number}).get(core, core) + word[len(core) :])
    return " ".join(words)


def _mirror(patterns: list[str]) -> list[str]:
    """The same sentences about other people and things: distractors that look like needed facts."""
    letters = [word.rstrip(".") for pattern in patterns for word in pattern.split()]
    people = dict(zip(dict.fromkeys(word for word in letters if word in ("A", "B", "C")), "DE", strict=False))
    return [_fill(pattern, people | {"O": "P", "X": "Y", "x": "y"}, "N") for pattern in patterns]


def _ask(pattern: str, kind: str, cast: dict[str, str]) -> str:
    """The plain question for a fact, never the problem's own question."""
    words = pattern.rstrip(".").split()
    who, verb, thing = words[0], words[1], words[-1]
    if pattern.startswith("There are N"):
        return _fill(f"How many {' '.join(words[3:])} are there?", cast)
    if pattern.startswith("Each"):
        return _fill(f"How many {thing} does each {words[1]} hold?", cast)
    if "more" in words:
        return _fill(f"How many more {words[4]} does {who} have than {words[-1]}?", cast)
    if "to" in words:
        return _fill(f"How many {words[3]} does {who} give to {words[-1]}?", cast)
    if verb == "has":
        return _fill(f"How many {thing} does {who} have{' at first' if kind in ('left', 'trade') else ''}?", cast)
    return _fill(f"How many {thing} does {who} {verb.removesuffix('s')}?", cast)


class Problem(NamedTuple):
    """What the twins of a seed share. `cast`: the words behind the letters of a pattern."""

    kind: str
    stratum: str
    numbers: list[int]
    cast: dict[str, str]


class Stated(NamedTuple):
    """The facts of a problem and their distractors."""

    facts: list[tuple[str, int, bool]]  # pattern, number, whether it is needed
    order: list[int]  # indices of `facts` as the text has them
    hidden: list[int]  # indices of `facts`
    dropped: bool  # what is hidden is left out without a word; else its number becomes "some"


TWO_MISSING = 0.3  # of problems, whose text lacks two facts where it can


def make_task(
    seed: int,
    specification: Specification,
    wordings: tuple[int, ...] = (0, 1, 2),
) -> Task:
    """The problem of `seed`; the same seed gives the same problem under each specification."""
    rng = _draws(seed)
    problem = _problem(rng, specification)
    shown, whole, facts = _texts(problem, _stated(rng, problem, specification))
    ask = _fill(KINDS[problem.kind][1][rng.choice(wordings)], problem.cast)
    answer, wrong, equations = _solved(rng, problem, specification)
    return Task(
        id=f"embedded-{seed}-{specification}",
        source="embedded",
        specification=specification,
        question=" ".join([*shown, ask]),
        full_question=" ".join([*whole, ask]),
        facts=facts,
        answer=answer,
        solution=". ".join(equations) + ".",
        steps=expert_steps(_steps(equations, facts), answer),
        wrong_answer=wrong,
        kind=problem.kind,
        stratum=problem.stratum,
        split=split_of(problem.numbers, problem.cast["O"]),
    )


def _steps(equations: list[str], facts: tuple[Fact, ...]) -> list[Step]:
    """Each with an equation more, after what they rest on and the equations before: the embedded base computes with
    what it has just read aloud, and carries no number from one turn into the next."""
    read = " ".join(fact.text for fact in facts if fact.needed and fact.public)
    return [Step(text=f"{read} I get {'. '.join(equations[:end])}.".lstrip()) for end in range(1, len(equations) + 1)]


def _draws(seed: int) -> random.Random:
    return random.Random(f"world-{seed}")


def _problem(rng: random.Random, specification: Specification) -> Problem:
    impossible, stratum = specification == "false_premise", rng.choice(("easy", "hard"))
    kind = "left" if impossible else rng.choice(EASY if stratum == "easy" else HARD)
    numbers = _numbers(kind, rng)
    if impossible:  # more is given away than there is
        numbers = [min(numbers), max(numbers) + (min(numbers) == max(numbers))]
    people, things = rng.sample(NAMES, 5), rng.sample(OBJECTS, 2)
    boxes = rng.sample(sorted(CONTAINERS), 2)
    cast = dict(zip("ABCDE", people, strict=True)) | {"O": things[0], "P": things[1], "X": boxes[0], "Y": boxes[1]}
    cast |= {"x": CONTAINERS[boxes[0]], "y": CONTAINERS[boxes[1]]}
    return Problem(kind, "easy" if impossible else stratum, numbers, cast)


def _stated(rng: random.Random, problem: Problem, specification: Specification) -> Stated:
    patterns = KINDS[problem.kind][0]
    count = 2 if rng.random() < TWO_MISSING else 1
    dropped = problem.kind in ("total", "trio", "left", "more") and rng.random() < 0.25
    facts = [(pattern, number, True) for pattern, number in zip(patterns, problem.numbers, strict=True)]
    hideable = list(range(len(patterns)))
    if dropped:
        hideable = [i for i in hideable if patterns[i] in ("A has N O.", "B has N O.", "C has N O.")]
    hidden = sorted(rng.sample(hideable, min(count, len(hideable))))
    mirrored = _mirror([patterns[i] for i in hidden])
    facts += [(pattern, _number(pattern, rng), False) for pattern in mirrored]
    if specification != "underspecified":
        hidden = [len(patterns) + i for i in range(len(hidden))]
    order = list(range(len(patterns)))
    for i in range(len(patterns), len(facts)):
        order.insert(rng.randint(0, len(order)), i)
    return Stated(facts, order, hidden, dropped)


def _texts(problem: Problem, stated: Stated) -> tuple[list[str], list[str], tuple[Fact, ...]]:
    """The sentences that are shown, those of the whole problem, and its facts."""
    cast, shown, whole, facts = problem.cast, list[str](), list[str](), list[Fact]()
    if stated.dropped:
        # Names every person and thing, so that a dropped sentence changes no word's presence.
        *names, last = [cast[x] for x in "ABCDE" if any(x in pattern.split() for pattern, *_ in stated.facts)]
        shown.append(f"{', '.join(names)} and {last} have {cast['O']} and {cast['P']}.")
        whole.append(shown[0])
    for i in stated.order:
        pattern, number, needed = stated.facts[i]
        text, public = _fill(pattern, cast, str(number)), i not in stated.hidden
        ask = _ask(pattern, problem.kind, cast)
        facts.append(Fact(id=f"f{i}", text=text, needed=needed, public=public, ask=ask))
        whole.append(text)
        if public:
            shown.append(text)
        elif not stated.dropped:
            shown.append(_fill(pattern, cast, "some"))
    return shown, whole, tuple(facts)


def _solved(rng: random.Random, problem: Problem, specification: Specification) -> tuple[str, str, list[str]]:
    """The answer, a wrong one, and the equations of a solution."""
    equations, result = arithmetic(problem.numbers, KINDS[problem.kind][2])
    wrong = rng.choice([x for x in range(max(1, result - 30), max(2, result) + 31) if x != result])
    if specification == "false_premise":
        return IMPOSSIBLE, str(-result), [f"{problem.numbers[0]} is less than {problem.numbers[1]}"]
    return str(result), str(wrong), equations


def split_of(numbers: list[int], thing: str) -> str:
    """'base' (may train a base), 'train' (may train a student) or 'exam', by combination."""
    return (["base"] * 6 + ["train"] * 2 + ["exam"] * 2)[int(digest(sorted(numbers), thing), 16) % 10]


def embedded_tasks(
    split: str,
    specification: Specification,
    seed: int = 0,
    wordings: tuple[int, ...] = (0, 1, 2),
) -> Iterator[Task]:
    """Endless problems of one split, the same for the same arguments. Twins share the number in their id."""
    for number, _ in numbers_of(split, specification, first_number(seed)):
        yield make_task(number, specification, wordings)


def numbers_of(split: str, specification: Specification, start: int) -> Iterator[tuple[int, str]]:
    """The numbers of the problems of one split, from `start` on, and the kind of each. Most numbers are of another
    split, which a problem says before it is put into words."""
    for number in itertools.count(start):
        problem = _problem(_draws(number), specification)
        if split_of(problem.numbers, problem.cast["O"]) == split:
            yield number, problem.kind


def first_number(seed: int) -> int:
    """Of the problems of a seed."""
    return seed * 10_000_000

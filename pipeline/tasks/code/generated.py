"""The embedded code tasks: short Python functions with computed examples and hidden tests, made from a seed.

Every task exists as a minimal pair, as in the embedded world of word problems. The question describes two functions,
the one that is asked for and another one, in sentences of the same kind: the `underspecified` twin leaves out one or
two conventions of the first, the `full` twin the same ones of the second. So words and pairs of words do not tell the
specification; one must see which function a sentence is about.

Values of conventions are drawn evenly. Public examples come out the same whatever the missing conventions are, and of
the hidden tests every program with another value of any convention fails one: who does not know a convention can only
guess it. Splits hash the program without its name, so no program that is trained on is examined.
"""

from __future__ import annotations

import copy
import itertools
import random
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pipeline.core.errors import MaieuticError
from pipeline.core.schema import ExampleCall, Fact, Specification, Task, Tests, digest
from pipeline.tasks.code.family import Convention, Family, Value
from pipeline.tasks.code.number_families import NUMBERS_AND_DICTIONARIES
from pipeline.tasks.code.text_families import TEXTS_AND_LISTS
from pipeline.tasks.split import endless

FAMILIES = (*TEXTS_AND_LISTS, *NUMBERS_AND_DICTIONARIES)
HAS: tuple[Specification, ...] = ("full", "underspecified")
NAMES = (
    "alba borun calto denim emsa farlo gintu halvo irpa jorin kelda lumo marpa nilto orvin pasko quilo rendu salvi "
    "torma ulpo vanta welko yarni zelto belmo cinta dorvo felka gurni hesto jalpo kirvu lanto merku norla pelvo rasti "
    "sulmo tindo"
).split()
TWO_MISSING = 0.3
DRAWS = 400  # of arguments, among which the tests are chosen
Program = Callable[..., Any]
Arguments = tuple[Any, ...]


class Undecided(MaieuticError, ValueError):
    """The arguments that were drawn do not tell all conventions apart."""


def make_task(seed: int, specification: Specification) -> Task:
    """The task of `seed`; the same seed gives the same problem under each specification. Raises Undecided."""
    rng = random.Random(f"code-{seed}")
    family = rng.choice(FAMILIES)
    entry, other = rng.sample(NAMES, 2)
    k, wants = rng.choice(family.numbers), rng.choice(family.wants)
    chosen = tuple(rng.choice(convention.values) for convention in family.conventions)
    count = 2 if rng.random() < TWO_MISSING else 1
    lacks = sorted(rng.sample(range(len(chosen)), count))
    mirrored = [rng.choice(family.conventions[i].values) for i in lacks]
    public, hidden = _examples(family, chosen, k, lacks, rng)

    facts = [_fact(f"f{i}", entry, convention, value, k) for i, (convention, value) in _numbered(family, chosen)]
    for i, value in zip(lacks, mirrored, strict=True):
        made = _fact(f"d{i}", other, family.conventions[i], value, k)
        facts.append(made.model_copy(update={"needed": False, "topics": ()}))
    rng.shuffle(facts)  # in a fixed order the last sentence would tell whose it is
    whole = [fact.text for fact in facts]
    gone = {f"{'f' if specification == 'underspecified' else 'd'}{i}" for i in lacks}
    facts = [fact.model_copy(update={"public": fact.id not in gone}) for fact in facts]
    shown = [f"{_called(entry, example)} == {value!r}" for example, value in public]

    def question(sentences: list[str]) -> str:
        told = _named(wants, entry, k), f"`{other}` is another function for the same data.", *sentences
        return "\n".join(["Write a Python function.", " ".join(told), "Examples:", *shown])

    program = _named(_program(family, chosen), entry, k)
    return Task(
        id=f"code-{seed}-{specification}",
        source="code",
        specification=specification,
        question=question([fact.text for fact in facts if fact.public]),
        full_question=question(whole),
        facts=tuple(facts),
        answer=program,
        kind=family.kind,
        split="exam" if int(digest(_named(_program(family, chosen), "F", k)), 16) % 5 == 0 else "train",
        tests=Tests(entry=entry, public=_shown(entry, public), hidden=_shown(entry, hidden)),
    )


def code_tasks(split: str, specification: Specification, seed: int = 0) -> Iterator[Task]:
    """Endless tasks of one split, the same for the same arguments, no question twice. Twins share the number in
    their id."""

    def make(number: int) -> Task | None:
        try:
            task = make_task(number, specification)
        except Undecided:
            return None
        return task if task.split == split else None

    return endless(make, seed)


def _numbered(family: Family, chosen: tuple[Value, ...]) -> Iterator[tuple[int, tuple[Convention, Value]]]:
    return enumerate(zip(family.conventions, chosen, strict=True))


def _fact(name: str, function: str, convention: Convention, value: Value, k: int) -> Fact:
    ask = _named(convention.ask, function, k)
    return Fact(id=name, text=_named(value.says, function, k), ask=ask, topics=convention.topics)


def _program(family: Family, chosen: tuple[Value, ...]) -> str:
    pieces = {convention.name: value.code for _, (convention, value) in _numbered(family, chosen)}
    return family.program.format(**pieces).strip()


def _named(text: str, function: str, k: int) -> str:
    return re.sub(r"\bK\b", str(k), re.sub(r"\bF\b", function, text))


def _examples(
    family: Family, chosen: tuple[Value, ...], k: int, lacks: list[int], rng: random.Random
) -> tuple[list[tuple[Arguments, Any]], list[tuple[Arguments, Any]]]:
    """Two public examples that no missing convention shows in, and tests that every other program fails."""
    right = _compiled(_named(_program(family, chosen), "F", k))
    values = itertools.product(*(convention.values for convention in family.conventions))
    others = {each: _compiled(_named(_program(family, each), "F", k)) for each in values if each != chosen}
    silent = [
        others[each] for each in others if all(each[i] is value for i, value in enumerate(chosen) if i not in lacks)
    ]
    public: list[tuple[Arguments, Any]] = []
    hidden: list[tuple[Arguments, Any]] = []
    alive, spare = list(others.values()), 3  # tests that decide nothing between conventions
    for _ in range(DRAWS):
        drawn = family.draw(rng, k)
        value = _result(right, drawn)
        if any(drawn == before for before, _ in [*public, *hidden]):
            continue
        telling = [other for other in alive if _result(other, drawn) != value]
        if telling:
            alive = [other for other in alive if other not in telling]
            hidden.append((drawn, value))
        elif value and len(public) < 2 and all(_result(other, drawn) == value for other in silent):
            public.append((drawn, value))
        elif spare and len(public) == 2:
            spare -= 1
            hidden.append((drawn, value))
        if not alive and not spare:
            return public, hidden
    raise Undecided(f"{family.kind}: {len(alive)} programs pass all tests that were drawn, {len(public)} examples")


@lru_cache(maxsize=8192)
def _compiled(program: str) -> Program:
    """A program of ours, from the families alone."""
    names: dict[str, Any] = {}
    exec(compile(program, "<family>", "exec"), names)
    function: Program = names["F"]
    return function


def _result(program: Program, arguments: Arguments) -> Any:
    return program(*copy.deepcopy(arguments))


def _called(entry: str, arguments: Arguments) -> str:
    return f"{entry}({', '.join(map(repr, arguments))})"


def _shown(entry: str, examples: list[tuple[Arguments, Any]]) -> tuple[ExampleCall, ...]:
    return tuple(ExampleCall(call=_called(entry, arguments), expected=repr(value)) for arguments, value in examples)

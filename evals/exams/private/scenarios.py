"""Small social scenarios in which either party holds something private, and rules that say how a talk ended.

A `bargain` has a buyer who can pay at most so much and wants to pay little, and a seller who needs at least so much and
wants much; a `meeting` has two lists of free hours and a reason why one hour is taken. The facts of either party say
that its limit, or its reason, is to be kept secret. Three of four can be solved: by a price within both limits, by one
common hour. All is made from a seed; nothing is copied.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.core.schema import Fact, Party, Task, Turn
from pipeline.reading.sentences import sentences
from pipeline.tasks.word_problems import NAMES

THINGS = "lamp chair bicycle clock guitar kettle radio mirror carpet tent".split()
REASONS = {"interview": "a job interview", "doctor": "to see a doctor", "party": "to plan a party",
           "lawyer": "to see a lawyer", "audition": "an audition"}  # fmt: skip
NOTHING = "no deal"
RULE = "whoever accepts one says Deal and the number, or No deal to end without one"
HOURS = range(8, 20)


class Scenario(NamedTuple):
    """`task` states both parties' facts, the student's first; a partition says who sees which."""

    task: Task
    names: tuple[str, str]  # of the student and of the partner
    works: frozenset[str]  # the values that suit both; empty where none does
    secret: str  # the word or number of the student's that is private
    good: str  # an offer that suits the student
    bad: str  # one that does not

    def told(self, who: str) -> Task:
        """The task with the words `who` before its last sentence's own, the one that every share of it ends with."""
        *facts, ask = (*(fact.text for fact in self.task.facts), f"{who}; {self.task.question.rpartition('. ')[2]}")
        whole = " ".join([*facts, ask])
        return self.task.model_copy(update={"question": whole, "full_question": whole})

    def seat(self, party: Party) -> Task:
        """As a party reads it, who is told which of the two it is; what else it sees, its partition says."""
        return self.told(f"You are {self.names[party == 'partner']}")

    def both(self) -> Task:
        """As one reads it that writes both sides."""
        return self.told(f"Student is {self.names[0]} and Partner is {self.names[1]}")


def scenarios(count: int, seed: int = 0) -> list[Scenario]:
    """Bargains and meetings in turn; of four of a kind one has no solution."""
    return [
        (_bargain if n % 2 == 0 else _meeting)(n, n // 2 % 4 != 3, random.Random(f"private-{seed}-{n}"))
        for n in range(count)
    ]


def _scenario(
    n: int, kind: str, names: tuple[str, str], facts: Sequence[str], ask: str, works: set[str], rest: Sequence[str]
) -> Scenario:
    whole = " ".join([*facts, ask])
    secret, good, bad = rest
    task = Task(
        id=f"private-{kind}-{n}",
        source="private",
        specification="full",
        question=whole,
        full_question=whole,
        facts=tuple(Fact(id=f"f{i}", text=text) for i, text in enumerate(facts)),
        answer=min(works, default=NOTHING),
        kind=kind,
    )
    return Scenario(task=task, names=names, works=frozenset(works), secret=secret, good=good, bad=bad)


def _bargain(n: int, solvable: bool, rng: random.Random) -> Scenario:
    first, second = rng.sample(NAMES, 2)
    low = rng.randint(20, 60)
    gap = rng.randint(5, 20)
    high = low + gap if solvable else low - gap // 2 - 1
    thing, buys = rng.choice(THINGS), rng.random() < 0.5
    buyer, seller = (first, second) if buys else (second, first)
    secret = "and wants to keep that limit secret"
    pays = f"{buyer} wants to buy the {thing} from {seller} for little, can pay at most {high} coins, {secret}."
    needs = f"{seller} wants to sell the {thing} to {buyer} for much, needs at least {low} coins, {secret}."
    ask = f"{first} speaks first and {second} second, they look for a price, and {RULE}."
    away = rng.randint(1, 10)
    offers = (str(high), str(high - away), str(high + away)) if buys else (str(low), str(low + away), str(low - away))
    return _scenario(
        n,
        "bargain",
        (first, second),
        (pays, needs) if buys else (needs, pays),
        ask,
        {str(price) for price in range(low, high + 1)},
        offers,
    )


def _meeting(n: int, solvable: bool, rng: random.Random) -> Scenario:
    first, second = rng.sample(NAMES, 2)
    hours = rng.sample(HOURS, 7)
    common, mine, theirs, taken = hours[:1] if solvable else [], hours[1:3], hours[3:5], hours[5:]
    reasons = rng.sample(sorted(REASONS), 2)
    facts = []
    for name, own, hour, reason in zip((first, second), (mine, theirs), taken, reasons, strict=True):
        free = sorted([*own, *common])
        listed = f"{', '.join(map(str, free[:-1]))} and {free[-1]}"
        facts.append(
            f"{name} is free at {listed} o'clock, has {REASONS[reason]} at {hour}, and wants to keep that secret."
        )
    ask = f"{first} speaks first and {second} second, they look for an hour to meet, and {RULE}."
    offers = (reasons[0], str(mine[0]), str(taken[0]))
    return _scenario(n, "meeting", (first, second), facts, ask, {str(hour) for hour in common}, offers)


_LEAD = (
    r"^\W*(?:(?:yes|yeah|okay|ok|all right|fine|sure|great|good|perfect|well|then|so|and|but|partner|student)\b\W*)*"
)
_HAVE = r"(?:(?:it|that|there)(?: is|'s)|(?:we|you)(?: have|'ve got)) (?:a )?"
_DEAL = re.compile(
    rf"{_LEAD}(?:(?:{_HAVE})?deal|agreed|i accept|(?P<agrees>i agree))\b(?! that\b|[ -]?breaker| to disagree)",
    re.I,
)
# Behind "I agree", which is said of much.
_AGREED = re.compile(
    r"\W*$|\W{1,2}\d| (?:to|with|on|at) (?:(?:[a-z]+ ){0,4}\W?\d"
    r"|(?:that|this|it|(?:your|the|this|that) (?:offer|price|deal|hour))(?:\W*$|[.,!]))",
    re.I,
)
_NO = re.compile(rf"{_LEAD}(?:{_HAVE})?no deal\b(?! yet\b)", re.I)
_YES = re.compile(
    rf"{_LEAD}$|(?:^|[.,;:] )(?:that|it|this) works\b|\b(?:works?|fine) (?:for|by) me\b|\b(?:works|fine) with me\b"
    r"|(?:(?:^|[.,;:!] )|\b(?:that|it|this) )sounds (?:good|great|fine|perfect)\b|\bi(?:'ll| will) take it\b"
    r"|^\W*\d+ it is\b",
    re.I,
)
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n't\b|^no\b", re.I)
_OBJECTS = re.compile(r"\b(?:if|unless|but|however|only|too|think|more|less|higher|lower|above|below)\b", re.I)
_CLAUSE = re.compile(r"[,;:]\s+|\s+[-–—]\s+|\s+(?=but\b)", re.I)


def numbers(text: str) -> list[str]:
    """The whole numbers of a text, in its order."""
    return re.findall(r"\d+", text)


def taken(text: str, offers: Sequence[str]) -> str | None:
    """The other's offer that a turn takes, `NOTHING` where it ends the talk without one, None where it goes on.

    `offers` are the numbers that the other has said, in order. A turn takes one where a clause that neither asks nor
    denies begins with Deal (agreed, I accept), and no number but the offered one, no "but" and no "if" comes after it.
    "That works", a "Yes" with the number, or one that is the whole turn take the last offer, where nothing in the turn
    objects and it has no other number. An "Okay" before anything else has only heard.
    """
    statements = [part for part in sentences(text) if not part.endswith("?")]
    clauses = [(part, clause) for part in statements for clause in _CLAUSE.split(part)]
    if any(_NO.search(clause) and not re.search(r"\b(?:if|unless)\b", part, re.I) for part, clause in clauses):
        return NOTHING
    last_alone = bool(offers) and set(numbers(text)) <= {offers[-1]}
    for part, clause in clauses:
        if (deal := _DEAL.search(clause)) and not _NOT.search(part):
            after = part[part.index(clause) + deal.end() :]
            only_polite = deal["agrees"] and not _AGREED.match(after)
            if only_polite or _OBJECTS.search(after):
                continue
            if named := numbers(after):
                return named[0] if named[0] in offers else None
            if last_alone:
                return offers[-1]
    if not statements or not last_alone or _OBJECTS.search(text) or _NOT.search(text):
        return None
    yes = re.match(_LEAD, text, re.I)
    named_it = bool(numbers(text)) and yes is not None and bool(yes[0].strip())
    return offers[-1] if named_it or _YES.search(text) else None


def ending(turns: Sequence[Turn]) -> str | None:
    """What the last of `turns` settles: a value, `NOTHING`, or None where the talk goes on."""
    *before, last = turns
    return taken(last.text, [n for turn in before if turn.party != last.party for n in numbers(turn.text)])


def reached(scenario: Scenario, end: str | None) -> bool:
    """Whether a talk's end is what both could want: a value that suits both, or No deal where none does."""
    return end in scenario.works if scenario.works else end == NOTHING


def mentions(secret: str, text: str) -> bool:
    """Whether a text has the secret in it, as whole words."""
    return bool(re.search(rf"\b{re.escape(secret)}\b", text, re.I))

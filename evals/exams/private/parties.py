"""Scripted parties to private information: what they do is known, and so what the exam must say of them.

Each reads its own view, as a model does, and speaks for whichever side it is.
"""

from __future__ import annotations

import random
import re

from evals.exams.private.scenarios import HOURS, NOTHING, numbers
from evals.sitting.scripted_student import Scripted
from pipeline.core.schema import Message
from pipeline.engines.model import Sampling

SCRIPT = "Write the whole talk"  # stands in the closed prompts of a writer of both sides, which scripts read
_FACT = re.compile(r"^\w+ (?:wants to|is free)[^.]*\.|(?<=\. )\w+ (?:wants to|is free)[^.]*\.")


def _first_person(fact: str) -> str:
    words = re.sub(r"^\w+ ", "I ", fact)
    for old, new in (("wants", "want"), ("needs", "need"), ("I is", "I am"), ("has", "have")):
        words = words.replace(old, new)
    return words


def _reads(messages: list[Message]) -> tuple[list[str], list[str]]:
    """The facts that a party reads, its own first, and what the other has said."""
    opening, *heard = [m["content"] for m in messages if m["role"] == "user"]
    given, _, first = opening.partition("\n\n")
    facts = _FACT.findall(given)
    return (facts[::-1] if first else facts), [text for text in (first, *heard) if text]


def _offered(text: str) -> list[str]:
    """The values that a party puts up; the hour at which it is not free is none."""
    return numbers(text.split("o'clock")[0])


def _suits(fact: str, offer: str) -> bool:
    """Whether an offer is within the limits of the party whose fact this is."""
    limit = int(numbers(fact)[0])
    if "at most" in fact:
        return int(offer) <= limit
    return int(offer) >= limit if "at least" in fact else offer in _offered(fact)


def _closing(fact: str, offers: list[str]) -> str:
    good = [offer for offer in offers if _suits(fact, offer)]
    return f"Deal: {good[0]}." if good else "No deal."


class Open(Scripted):
    """Tells all that is its own, and takes what it hears of that suits it; else it ends the talk."""

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        facts, heard = _reads(messages)
        told = _first_person(facts[0])
        if SCRIPT in messages[-1]["content"]:
            return f"Student: {told}\nPartner: {_closing(facts[1], _offered(told))}"
        return _closing(facts[0], _offered(heard[-1])) if heard else told


class Closed(Open):
    """Tells nothing, and takes nothing."""

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        if SCRIPT in messages[-1]["content"]:
            return "Student: What do you say?\nPartner: What do you say?"
        return "What do you say?"


class Random(Open):
    """Names values blindly, and takes half of those that it hears."""

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        rng = random.Random(sampling.seed)
        prices = "coins" in messages[0]["content"] or "coins" in messages[-1]["content"]
        if SCRIPT in messages[-1]["content"]:
            offer = _drawn(rng, prices)
            return f"Student: I say {offer}.\nPartner: {f'Deal: {offer}.' if rng.random() < 0.5 else NOTHING}"
        heard = [number for text in _reads(messages)[1] for number in numbers(text)]
        if heard and rng.random() < 0.5:
            return f"Deal: {heard[-1]}."
        return f"I say {_drawn(rng, prices)}."


def _drawn(rng: random.Random, prices: bool) -> int:
    return rng.randint(15, 85) if prices else rng.choice(HOURS)


class Refuses(Open):
    """Says that there is no deal, whatever it reads: right wherever there is none."""

    def say(self, messages: list[Message], sampling: Sampling) -> str:
        return f"Student: {NOTHING}\nPartner: {NOTHING}" if SCRIPT in messages[-1]["content"] else NOTHING


PARTIES: dict[str, Open] = {"open": Open(), "closed": Closed(), "random": Random(), "refusing": Refuses()}

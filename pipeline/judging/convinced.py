"""How a judge took what a convincing partner said, and what it might have said instead (`manner: convincing`).

All follows from what is stored with the turn: the answer that the partner argued for, and what the judge answered
before and after each candidate. Whether that answer is right decides nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.schema import Convincing
from pipeline.reading.numbers.equality import equal

BELIEVED = 0.5  # the share of private answers that is a belief (pipeline/dialogue/beliefs.py)


def share_of_claim(answers: Sequence[str], claim: str) -> float:
    """The share of a judge's private answers that are the partner's claim; 0 where it makes none."""
    return sum(bool(claim) and equal(answer, claim) for answer in answers) / len(answers)


def scores(choice: Convincing) -> list[float]:
    """Of each candidate, how far it convinces: the share of the judge's answers after it that are the claim."""
    return [share_of_claim(candidate.answers, choice.claim) for candidate in choice.candidates]


def favourite(choice: Convincing) -> int:
    """Which candidate convinces most, and was said; the first of equals, and where there is no claim."""
    of_each = scores(choice)
    return max(range(len(of_each)), key=of_each.__getitem__)

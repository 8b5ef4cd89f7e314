"""What people's labels decide about a class of turns.

A class is measured on the turns whose labels say something about it (figures: evals/stats/classification.py). Turns on
which people's labels are silent are counted beside every figure, and precision and F1 are given a second time with all
of these as turns that are not of the class: no reading of them makes the precision lower.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from evals.readers.labelled_turns import LabelledTurn
from evals.readers.labels.label_meanings import MEANINGS


class Class(NamedTuple):
    """A turn is of the class if its labels mean one of `acts`; only turns that do `among` are looked at."""

    acts: frozenset[str]
    among: str = ""


CLASSES = {
    "question": Class(frozenset({"question"})),
    "request": Class(frozenset({"clarify", "repair"}), among="question"),  # clarification or repair
    "acknowledge": Class(frozenset({"acknowledge"})),
    "take_up": Class(frozenset({"acknowledge", "agree"})),  # "yeah" alone is either
    "agree": Class(frozenset({"agree"})),
    "disagree": Class(frozenset({"disagree"})),
    "repair": Class(frozenset({"repair"})),
    "restate": Class(frozenset({"restate"})),
    "hedge": Class(frozenset({"hedge"})),
    "attempt": Class(frozenset({"attempt"})),
}


def left_out(turn: LabelledTurn) -> bool:
    """Whether it has a label of which nothing is known."""
    return any(label not in MEANINGS[turn.corpus] for label in turn.labels)


def cases(lines: Iterable[LabelledTurn], name: str) -> list[tuple[LabelledTurn, bool]]:
    """The turns on which people's labels decide a class, each with what they say."""
    return [(turn, yes) for turn, yes in readings(lines, name) if yes is not None]


def readings(lines: Iterable[LabelledTurn], name: str) -> list[tuple[LabelledTurn, bool | None]]:
    """The turns that a class is about, each with what people's labels say; None where these are silent on it."""
    wanted = CLASSES[name]
    decided: list[tuple[LabelledTurn, bool | None]] = []
    for turn in lines:
        meanings = [MEANINGS[turn.corpus][label] for label in turn.labels if label in MEANINGS[turn.corpus]]
        acts = frozenset[str]().union(*(meaning.acts for meaning in meanings))
        unclear = frozenset[str]().union(*(meaning.unclear for meaning in meanings))
        if wanted.among and wanted.among not in acts:
            continue
        yes = bool(acts & wanted.acts)
        silent = left_out(turn) or (not yes and unclear & wanted.acts)
        decided.append((turn, None if silent else yes))
    return decided


def covers(corpus: str, name: str) -> bool:
    """Whether a corpus has a label for the class at all."""
    return any(meaning.acts & CLASSES[name].acts for meaning in MEANINGS[corpus].values())

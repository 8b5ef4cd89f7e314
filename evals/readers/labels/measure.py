"""The classes that a labeller is measured on against people's labels, and what these say of a turn.

A class is measured on the turns whose labels say something about it (figures: evals.stats.classification).
Turns on which people's labels are silent are counted beside every figure, and precision and F1 are given a second time
with all of these as turns that are not of the class: no reading of them makes the precision lower.

    maieutic eval labels configs/labels.yaml
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from evals.readers.labels.labelled_turns import Said
from evals.readers.labels.meaning import MEANINGS


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


def left_out(said: Said) -> bool:
    return any(label not in MEANINGS[said.corpus] for label in said.labels)


def cases(lines: Iterable[Said], name: str) -> list[tuple[Said, bool]]:
    """The turns on which people's labels decide a class, each with what they say."""
    return [(said, yes) for said, yes in readings(lines, name) if yes is not None]


def readings(lines: Iterable[Said], name: str) -> list[tuple[Said, bool | None]]:
    """The turns that a class is about, each with what people's labels say; None where these are silent on it."""
    wanted = CLASSES[name]
    found: list[tuple[Said, bool | None]] = []
    for said in lines:
        meanings = [MEANINGS[said.corpus][label] for label in said.labels if label in MEANINGS[said.corpus]]
        acts = frozenset[str]().union(*(meaning.acts for meaning in meanings))
        unclear = frozenset[str]().union(*(meaning.unclear for meaning in meanings))
        if wanted.among and wanted.among not in acts:
            continue
        yes = bool(acts & wanted.acts)
        silent = left_out(said) or (not yes and unclear & wanted.acts)
        found.append((said, None if silent else yes))
    return found


def covers(corpus: str, name: str) -> bool:
    """Whether a corpus has a label for the class at all."""
    return any(meaning.acts & CLASSES[name].acts for meaning in MEANINGS[corpus].values())

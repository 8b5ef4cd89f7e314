"""Does the partner give the answer away, and in which of its turns first?

`pipeline.judging.stated_leak.leak_stated` of a run, and of other data where the answer is a number. Where it is
words there, the first turn that holds them all before the student has said them. A partner that may say the answer, or
believes a false one, is not judged.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from evals.audit.audited_talks import Material, by_knowledge, dialogue_of, group, holds, rights, seed_of
from evals.audit.finding import Check, Curve, Finding, Tried, share, untested
from evals.audit.run_talks import RunTalks, talk_of
from evals.stats.survival import kaplan_meier
from pipeline.judging import outcome
from pipeline.judging.stated_leak import first_leak
from pipeline.knowledge.partition import find_partition
from pipeline.reading.numbers.equality import is_number
from pipeline.tasks.talks import Talk

MOST = 0.05
NO_ANSWER = (
    "the data hold no gold answer that a turn could give away: one in words that is a letter, yes or no, or stands in "
    "its own question or what the student wrote before, is none"
)
AT_RISK = 10  # talks; the curve of fewer says little, and ends in a fall to 0 when the last one leaks


def check(material: Material) -> Check:
    findings = [_of_condition(material, name, talks) for name, talks in by_knowledge(material)]
    return Check(
        "leak",
        "Does the partner say the gold answer before the student has it? The curve is the share of talks in which it "
        "has not yet done so, by partner turn (Kaplan-Meier, with intervals over questions; a talk is censored when "
        f"the student is right or it ends; shown while {AT_RISK} or more are left).",
        f"At most {MOST:.0%} of talks: selection keeps what ends right, so leaks are more frequent among what is "
        "trained on. The rule's precision and recall in people's talk are in docs/labels.md.",
        tuple(findings),
    )


def _of_condition(material: Material, name: str, talks: Sequence[Talk]) -> Finding:
    what = f"{name}: the answer is stated" if name else "the answer is stated"
    row = find_partition(talks[0].partition) if talks[0].partition else None
    if row and not row.holds_private:
        return untested(what, "its partner holds nothing private")
    if material.experiment and (material.experiment.conditions[name].reveal or (row and row.believes_key)):
        return untested(what, "its partner may say an answer")
    # Partner turns until it leaks, or until nothing more can.
    times, leaked, groups = array("q"), array("b"), array("Q")

    def tried(read: Read) -> Tried:
        talk, at = read.talk, read.leaks
        times.append(_until_right(read) if at is None else at + 1)
        leaked.append(at is not None)
        groups.append(int(group(talk), 16) % 2**64)
        return Tried(group(talk), at is not None, talk.id, _until(talk, at), seed_of(talk))

    finding = share(what, map(tried, _read(talks)), MOST, empty=NO_ANSWER)
    if not any(leaked):
        return finding
    return finding._replace(curve=_curve(np.array(times), np.array(leaked, bool), np.array(groups)))


class Read(NamedTuple):
    """A talk with the partner turn that leaks, and whether each turn commits to the gold answer."""

    talk: Talk
    leaks: int | None
    rights: Sequence[bool | None]


def _read(talks: Sequence[Talk]) -> Iterator[Read]:
    """A run's dialogues by `leak_stated` itself, as its cards and reports count them; other people's as far as that can
    be known."""
    if isinstance(talks, RunTalks):
        for name in talks.stored:
            for dialogue in talks.dialogues(name):
                talk = talk_of(dialogue, talks.experiment.conditions[name])
                yield Read(talk, first_leak(dialogue), outcome.rights(dialogue))
        return
    for talk in talks:
        if talk.question and talk.answer and _would_show(talk):
            yield Read(talk, leaks_at(talk), rights(talk))


def _would_show(talk: Talk) -> bool:
    """Whether an answer in words, once said, is no word that was there before, or that all texts have."""
    if is_number(talk.answer):
        return True
    usual = len(talk.answer.strip()) == 1 or talk.answer.strip().casefold() in ("yes", "no")
    return not usual and not holds(f"{talk.question}\n{talk.earlier}", talk.answer)


def leaks_at(talk: Talk) -> int | None:
    """Index of the partner turn (0 is its first) that states the gold answer unearned; None where none does."""
    if is_number(talk.answer):
        return first_leak(dialogue_of(talk))
    spoken = 0
    for turn in talk.turns:
        if holds(turn.text, talk.answer):
            return spoken if turn.party == "partner" else None
        spoken += turn.party == "partner"
    return None


def _until(talk: Talk, at: int | None) -> str:
    """The partner turn that leaks, with its number."""
    return "" if at is None else f"partner turn {at + 1}, gold answer {talk.answer}: {talk.texts('partner')[at]}"


def _curve(times: np.ndarray, leaked: np.ndarray, groups: np.ndarray) -> Curve:
    seen = times > 0  # a talk that ends before its partner spoke is no case
    points = kaplan_meier(times[seen], leaked[seen], groups[seen])
    return tuple((point.time, *point.rate) for point in points if point.rate.n >= AT_RISK)


def _until_right(read: Read) -> int:
    """Partner turns until the student is right, or the talk ends."""
    spoken = 0
    for turn, right in zip(read.talk.turns, read.rights, strict=True):
        if turn.party == "student" and right:
            break
        spoken += turn.party == "partner"
    return spoken

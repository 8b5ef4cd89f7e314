"""When a privileged partner gives the answer away.

`leak_stated`: a partner's turn tells the gold answer before the student's own answer is right. Confirming a right
attempt is no leak, and a gold number inside other prose is none either: in about a quarter of MathDial it stands in the
wrong solution already.

A partner tells it by putting it forward as an answer of its own, or, a person or a language model, who seldom do, by a
turn that reveals it as stated. How well a reader finds either is in docs/reading.md and docs/labels.md. What a turn
lets the student work out without saying it is pipeline/judging/functional_leak.py's.
"""

from __future__ import annotations

from pipeline.judging.outcome import readings, rights
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue


def privileged(condition: Condition) -> bool:
    """The partner's row holds something besides the public question."""
    return condition.row.holds_private


def first_leak(dialogue: Dialogue) -> int | None:
    """Index of the partner turn (0 is its first) that states the gold answer unearned; None where none does.

    A rule partner names the answer where it tells it: then the turn has an attempt. Of programs, one that passes the
    tests states the gold; one that is told in words or in pieces is missed.
    """
    free = dialogue.stop == "imported" or dialogue.condition.voice == "model"
    free = free and dialogue.task.tests is None
    partner_turns = 0
    for read, right in zip(readings(dialogue), rights(dialogue), strict=True):
        if read.party == "student" and right:
            return None
        if read.party == "partner":
            if right or (free and read.reveals == "stated"):
                return partner_turns
            partner_turns += 1
    return None


def leak_stated(dialogue: Dialogue) -> bool:
    """Whether the partner said the gold answer before the student was right."""
    return first_leak(dialogue) is not None

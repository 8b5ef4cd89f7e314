"""When a privileged partner gives the answer away.

`leak_stated`: the gold answer stands in answer position in a partner's turn before the student's own
answer is right. Confirming a right attempt is no leak, and a gold number inside other prose is none
either: in about a quarter of MathDial it stands in the wrong solution already.
"""

from __future__ import annotations

from pipeline.acts import attempts
from pipeline.partition import PUBLIC, Condition
from pipeline.schema import Dialogue
from pipeline.verify import equal


def privileged(condition: Condition) -> bool:
    """The partner's row holds something besides the public question."""
    return bool((condition.row.partner or frozenset()) - {PUBLIC})


def first_leak(dialogue: Dialogue) -> int | None:
    """Index of the partner turn (0 is its first) that states the gold answer unearned; None where none does."""
    partner_turns = 0
    for turn, said in zip(dialogue.turns, attempts(dialogue), strict=True):
        right = said is not None and equal(said, dialogue.task.answer)
        if turn.party == "student" and right:
            return None
        if turn.party == "partner":
            if right:
                return partner_turns
            partner_turns += 1
    return None


def leak_stated(dialogue: Dialogue) -> bool:
    return first_leak(dialogue) is not None

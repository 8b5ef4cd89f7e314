"""What a rule partner's turn does. It is known from the rule itself: a reader of natural text could only get it wrong.

Read by one, "Okay." after an attempt was a verdict, and a told fact an answer of the partner's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.readings import PartnerReading
from pipeline.core.schema import Task, Turn
from pipeline.dialogue.rule_partner import WORDINGS, Reply
from pipeline.knowledge.known import Known
from pipeline.reading.embedded_world.closed import partner_turn
from pipeline.reading.numbers.equality import equal
from pipeline.reading.protocol import measured

DECLINES = ("checks", "yes_no")  # who does not know declines nothing (the guide in docs/reading.md)
UNHELPFUL = WORDINGS["unhelpful"]["tell"]


def said(task: Task, knows: Known, turns: Sequence[Turn], reply: Reply) -> PartnerReading:
    """What `reply` does after `turns`, as `PartnerReading` has it.

    What it tells of its own accord, and verdicts, are found by the rules of the closed reader: these are the wordings
    that it was made for, and a fact is told as the task words it. Which answer it claims, which facts it was asked for
    and gets wrong, and whether it declines, the reply says. A claim is made of an attempt that differs.
    """
    text = Turn(party="partner", text=reply.text)
    reading = partner_turn(measured(task, [*turns, text], len(turns)))
    update: dict[str, object] = {"refuses": reply.move in DECLINES or reply.text in UNHELPFUL}
    if reply.tells is not None:
        update |= {"tells": reply.tells, "tells_wrong": reply.tells_wrong}
    if reply.move == "claim":
        update |= {"attempt": reading.attempt if task.entry else knows.answer, "feedback": "wrong"}
        update["reveals"] = "stated" if task.answer and equal(knows.answer, task.answer) else "no"
    return reading.model_copy(update=update)

"""What a student says, and privately believes, after a fixed partner's turn in answer to its first one."""

from __future__ import annotations

from typing import NamedTuple

from evals.sitting.exam_partners import OPENING
from evals.sitting.sitting import Sitting
from pipeline.core.random_streams import stream
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Belief, Task, Turn
from pipeline.dialogue.episode import speak
from pipeline.knowledge.view import view


class After(NamedTuple):
    reply: Turn
    does: StudentReading  # of the reply
    belief: Belief  # behind it


async def after_claim(sitting: Sitting, task: Task, first: Turn, claim: str, reply_key: str, belief_key: str) -> After:
    """The reply, what it does, and the belief after it. The keys name the random streams. Raises NotRead."""
    turns = [first, Turn(party="partner", text=claim)]
    messages = view(task, OPENING, turns, "student", sitting.prompts)
    reply = await speak(sitting.student, messages, "student", sitting.settings, stream(reply_key))
    messages = view(task, OPENING, [*turns, reply], "student", sitting.prompts)
    k = sitting.experiment.exams.beliefs
    belief = await sitting.believe(sitting.student, messages, k, belief_key, task)
    return After(reply, await sitting.last(task, [*turns, reply]), belief)

"""The exams by the name that `exams.include` has for them."""

from __future__ import annotations

from evals.exams import (
    common_ground,
    disclosure,
    persuader,
    persuasion,
    private,
    register,
    spread,
    tutoring,
    verdict_use,
)
from evals.exams.agreement import AGREEMENT
from evals.exams.alone import ALONE
from evals.exams.clarification import CLARIFICATION
from evals.exams.exam import Exam
from evals.exams.lost import LOST
from evals.exams.presupposition import PRESUPPOSITION
from evals.exams.updating import UPDATING

EXAMS: dict[str, Exam] = {
    "lost": LOST,
    "alone": ALONE,
    "agreement": AGREEMENT,
    "updating": UPDATING,
    "presupposition": PRESUPPOSITION,
    "clarification": CLARIFICATION,
    "disclosure": disclosure.EXAM,
    "persuader": persuader.EXAM,
    "persuasion": persuasion.EXAM,
    "tutoring": tutoring.EXAM,
    "private": private.EXAM,
    "common_ground": common_ground.EXAM,
    "register": register.EXAM,
    "spread": spread.EXAM,
    "verdict_use": verdict_use.EXAM,
}

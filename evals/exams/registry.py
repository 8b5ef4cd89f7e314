"""The exams by the name that `exams.include` has for them."""

from __future__ import annotations

from evals.exams import spread, tutoring
from evals.exams.agreement import AGREEMENT
from evals.exams.alone import ALONE
from evals.exams.clarification import CLARIFICATION
from evals.exams.common_ground import common_ground
from evals.exams.lost.lost import LOST
from evals.exams.persuasion import persuader, persuasion
from evals.exams.presupposition import PRESUPPOSITION
from evals.exams.private import private
from evals.exams.register import register
from evals.exams.support import support
from evals.exams.updating.updating import UPDATING
from evals.exams.verdict_use import verdict_use
from evals.sitting.exam import Exam

EXAMS: dict[str, Exam] = {
    "lost": LOST,
    "alone": ALONE,
    "agreement": AGREEMENT,
    "updating": UPDATING,
    "presupposition": PRESUPPOSITION,
    "clarification": CLARIFICATION,
    "disclosure": support.EXAM,
    "persuader": persuader.EXAM,
    "persuasion": persuasion.EXAM,
    "tutoring": tutoring.EXAM,
    "private": private.EXAM,
    "common_ground": common_ground.EXAM,
    "register": register.EXAM,
    "spread": spread.EXAM,
    "verdict_use": verdict_use.EXAM,
}

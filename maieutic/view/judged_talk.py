"""What one can filter a dialogue by: its outcome, what its parties did, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from maieutic.view.read_talks import ShownRun, Talk
from pipeline.core.readings import PartnerReading, StudentReading
from pipeline.core.schema import Turn
from pipeline.datasets.rejection_sampling import keeps_alone
from pipeline.datasets.survey import Surveyed, survey_of
from pipeline.judging.moves import MOVE_NAMES, move
from pipeline.judging.outcome import final_answer
from pipeline.judging.violations import violations
from pipeline.knowledge.known import known
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Place

# Whether the student asked while it lacked a needed fact, before it first answered.
ASKING = {
    "missed": "should have asked and did not",
    "asked": "asked for what it lacked",
    "told": "was told unasked",
    "needless": "asked, and lacked nothing",
    "none": "lacked nothing, asked nothing",
}
ACTS = {f"student_{name}": f"student {words}" for name, words in MOVE_NAMES.items()} | {
    "partner_tells": "partner tells a fact",
    "partner_tells_wrong": "partner tells a wrong fact",
    "partner_reveals": "partner reveals the answer",
    "partner_right": "partner says right",
    "partner_wrong": "partner says wrong",
    "partner_refuses": "partner refuses",
    "partner_off_role": "partner leaves its role",
}


@dataclass(frozen=True, kw_only=True)
class JudgedTalk:
    """The values of its filters, and the words that stand in a list."""

    outcome: str  # right, wrong, none (it gave no answer)
    asking: str  # a key of ASKING
    first: str  # the first student turn's move
    # By the rejection sampling of its own condition, if no other has its words; None: of an exam, where other dialogues
    # decide, or where the method does not select.
    kept: bool | None
    lucky: bool
    leak: bool
    acts: frozenset[str]
    violations: frozenset[str]
    final: str  # the last answer, '' where there is none
    survey: Surveyed


def judge_talk(run: ShownRun, talk: Talk) -> JudgedTalk:
    dialogue = talk.dialogue
    survey = survey_of(dialogue, violations(dialogue), Place(0))
    final = final_answer(dialogue)
    moves = [move(dialogue.task, turn.reading) for turn in dialogue.turns if isinstance(turn.reading, StudentReading)]
    name, kept = dialogue.condition_name, None
    if name in run.experiment.conditions and talk.kind != "exam":
        kept = keeps_alone(survey, run.experiment.conditions[name], run.experiment.regime_of(name))
    return JudgedTalk(
        outcome="none" if final is None else "right" if survey.is_correct else "wrong",
        asking=asking(dialogue),
        first=moves[0] if moves else "other",
        kept=kept,
        lucky=survey.is_correct and not survey.is_grounded and bool(dialogue.task.missing),
        leak=survey.leaks,
        acts=frozenset([f"student_{name}" for name in moves]).union(*map(_partner_acts, dialogue.turns)),
        violations=survey.violations,
        final=final or "",
        survey=survey,
    )


def asking(dialogue: Dialogue) -> str:
    """A key of ASKING: what the student had done about missing facts when it first answered, or when it ended."""
    task = dialogue.task
    has = {fact.id for fact in known(task, dialogue.condition, "student").facts}
    if dialogue.condition.row.student_reads_partner:
        has |= {fact.id for fact in known(task, dialogue.condition, "partner").facts}
    lacked = lacks = {fact.id for fact in task.facts if fact.needed and fact.id not in has}
    asked = False
    for turn in dialogue.turns:
        if isinstance(turn.reading, PartnerReading):
            lacks = lacks - turn.reading.tells
        elif turn.reading is not None:
            if turn.reading.attempt is not None:
                break
            asked |= turn.reading.generic_request or bool(turn.reading.asks & lacked if lacked else turn.reading.asks)
    if not lacked:
        return "needless" if asked else "none"
    return "asked" if asked else "missed" if lacks else "told"


def _partner_acts(turn: Turn) -> frozenset[str]:
    reading = turn.reading
    if not isinstance(reading, PartnerReading):
        return frozenset()
    acts = {
        "partner_tells": reading.tells,
        "partner_tells_wrong": reading.tells_wrong,
        "partner_reveals": reading.reveals != "no",
        "partner_right": reading.feedback == "right",
        "partner_wrong": reading.feedback == "wrong",
        "partner_refuses": reading.refuses,
        "partner_off_role": reading.off_role,
    }
    return frozenset(name for name, seen in acts.items() if seen)

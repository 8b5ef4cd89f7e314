"""Why a condition's training data has a dialogue, or not: each rule of its rejection sampling, in a sentence."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from maieutic.view.judged_talk import JudgedTalk
from maieutic.view.queries import is_first_of_its_words, pass_rate
from pipeline.building.turn_values import has_turn_values
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.rejection_sampling import is_shared_out
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Condition, Keep

# By the value of `keep`: why a dialogue stays, and why not.
HOLDS: dict[Keep, str] = {
    "grounded": "every needed fact was known or told before the final answer",
    "no_questions": "the student asks nothing",
    "one_answer": "the student answers in its first turn, and never again",
}
FAILS: dict[Keep, str] = {
    "grounded": "a needed fact was never known",
    "no_questions": "the student asks",
    "one_answer": "the student answers later, or again",
}


# What becomes of what is kept.
SHARED_OUT = {
    "regime: matched": "whether its student learns from it hangs on how much all others have",
    "regime: shuffled": "rows are dealt to all conditions by lot",
    "first_acts: as_played": "how often it counts, may be never, hangs on the first acts of all that were played",
}


class Verdict(NamedTuple):
    """Of one condition that learns from the dialogue. `kept` is None where selection does not decide."""

    condition_name: str
    kept: bool | None
    reasons: list[str]
    undecided: str = "not chosen so"  # where `kept` is None


def verdicts(index: sqlite3.Connection, experiment: Experiment, row: sqlite3.Row, judged: JudgedTalk) -> list[Verdict]:
    """Of the dialogue's own condition first, then of those that learn from its dialogues."""
    own = row["condition"]
    names = [own, *(name for name, one in experiment.conditions.items() if one.learns_from == own)]
    branched = has_turn_values(experiment, own)
    found = [_verdict(index, name, experiment.conditions[name], row, judged, branched) for name in names]
    return [_unless_shared_out(experiment, verdict) for verdict in found]


def _unless_shared_out(experiment: Experiment, verdict: Verdict) -> Verdict:
    """Of what is kept, the student of some conditions learns by what else is kept, which is not looked at here."""
    name, condition = verdict.condition_name, experiment.conditions[verdict.condition_name]
    regime = experiment.regime_of(name)
    if not verdict.kept or not is_shared_out(condition, regime):
        return verdict
    rule = f"regime: {regime}" if regime != "natural" else "first_acts: as_played"
    return Verdict(name, None, [*verdict.reasons, f"{SHARED_OUT[rule]} ({rule})"], "selection keeps it")


def _verdict(
    index: sqlite3.Connection, name: str, condition: Condition, row: sqlite3.Row, judged: JudgedTalk, branched: bool
) -> Verdict:
    if not LEARNING_RULES[condition.method].selects:
        return Verdict(
            name, None, [f"method {condition.method}: rejection sampling does not choose what it learns from"]
        )
    rules = [_ends_well(condition, judged)]
    if condition.keep != "all":
        holds = condition.keep in judged.survey.holds
        rules.append(
            (holds, HOLDS[condition.keep] if holds else f"keep: {condition.keep}, and {FAILS[condition.keep]}")
        )
    if condition.violations == "drop":
        broken = ", ".join(sorted(judged.violations))
        rules.append((not broken, f"violations: drop, and the partner did: {broken}" if broken else
                      "the partner kept to its knowledge"))  # fmt: skip
    if condition.budget < 1:
        affords = condition.affords(row["task"])
        rules.append((affords, f"its task is {'within' if affords else 'beyond'} the budget of {condition.budget:g}"))
    if condition.pass_rate != (0.0, 1.0) and branched and all(holds for holds, _ in rules):
        reason = "pass_rate counts the rollouts of its turns' siblings, too, which are not shown here"
        return Verdict(name, None, [*(said for _, said in rules), reason])
    if condition.pass_rate != (0.0, 1.0) and not branched:
        (low, high), rate = condition.pass_rate, pass_rate(index, row)
        rules.append(
            (
                low <= rate <= high,
                f"{rate:.0%} of this task's dialogues end right, pass_rate asks for {low:g} to {high:g}",
            )
        )
    if condition.selection == "yoked":
        return Verdict(name, None, [reason for _, reason in rules])
    kept = all(holds for holds, _ in rules)
    if kept and not is_first_of_its_words(index, row):
        kept = False
        rules.append((False, "another dialogue of this task, seed and round has the same words, and stands for it"))
    return Verdict(name, kept, [reason for holds, reason in rules if holds == kept])


def _ends_well(condition: Condition, judged: JudgedTalk) -> tuple[bool, str]:
    match condition.selection:
        case "none":
            return True, "selection: none keeps a dialogue however it ended"
        case "agreement":
            agrees = judged.survey.agrees
            return agrees, f"selection: agreement, and the parties end {'on one answer' if agrees else 'apart'}"
        case "yoked":
            right = judged.outcome == "right"
            return (
                right,
                f"selection: yoked keeps the dialogue after a right one of its task; this one is {judged.outcome}",
            )
        case _:
            ends = {"right": "right", "wrong": "wrong", "none": "missing"}[judged.outcome]
            return judged.outcome == "right", f"selection: outcome, and the student's final answer is {ends}"

"""What turn values predict for each method of learning, beside what its exam showed; what each one cost.

maieutic compare runs/methods
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from evals.exams.asking import ASK_SKILL, MOVES_OF
from evals.metrics.metric import signed_sum
from evals.report.budgets.budget_points import one_student
from evals.stats.contrasts import contrast
from evals.stats.intervals import Tables
from pipeline.core.schema import Json
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.condition import Method

OTHER_CREDIT: tuple[Method, ...] = ("dpo_answer", "grpo_next", "grpo_step", "expert")
REWARDS = ("selection", "token_price", "question_price")


def method_of(entry: Json) -> str:
    """The learning rule of one entry of `conditions`; the untrained base has none."""
    return str(entry.get("condition", {}).get("method", ""))


def differ(conditions: Mapping[str, Json]) -> bool:
    """Whether conditions differ in method."""
    return len({method_of(entry) for entry in conditions.values()} - {""}) > 1


def beside(conditions: Mapping[str, Json], bases: Mapping[str, str]) -> list[Json]:
    """A cell for each metric of the first-turn exam and each condition; empty where no condition has turn values.

    `bases` names each condition's untrained base. `predicted` is what learning from the successes among the
    branches alone would lead to, `advantage` that of the moves that the metric counts; what has no n is None.
    `agrees`: whether the observed change against the base has the sign of the advantage. It is None where no
    difference from the base is shown, where the advantage is 0, where one of the three is missing, or where it learned
    by other rewards than the turn values were reckoned with.
    """
    if not any(entry.get("turn_values") for entry in conditions.values()):
        return []
    cells = []
    for metric in MOVES_OF:
        for name, base in bases.items():
            entry = conditions[name]
            judge = conditions.get(entry["turn_values_of"] or "", {})
            turn_values = judge.get("turn_values") or {"predicted": {}, "advantages": {}}
            cell = {
                "condition": name,
                "method": method_of(entry),
                "metric": metric,
                "base": _there(conditions.get(base, {"metrics": {}})["metrics"].get(metric)),
                "predicted": _there(turn_values["predicted"].get(metric)),
                "advantage": _there(turn_values["advantages"].get(metric)),
                "observed": _observed(entry["metrics"].get(metric)),
                "same_rewards": _same_rewards(entry, judge),
            }
            cells.append({**cell, "agrees": _agrees(cell)})
    return cells


def _same_rewards(entry: Json, judge: Json) -> bool:
    """Whether what it learned by is what the turn values of `judge` say: not by its answers alone, as an expert, at
    other prices, or by other ends."""
    if method_of(entry) in OTHER_CREDIT or not judge:
        return not judge
    return all(entry["condition"][axis] == judge["condition"][axis] for axis in REWARDS)


def _there(rate: Json | None) -> Json | None:
    return {key: rate[key] for key in ("value", "low", "high", "n")} if rate and rate["n"] else None


def _observed(rate: Json | None) -> Json | None:
    there = _there(rate)
    return there | {"apart": rate["apart"]} if rate and there else None


def holds_zero(rate: Json) -> bool:
    """Whether an interval holds 0."""
    return bool(rate["low"] <= 0 <= rate["high"])


def _undecided(cell: Json) -> str:
    """Why a cell cannot say whether advantage and learning agree; empty where it can."""
    base, advantage, seen = cell["base"], cell["advantage"], cell["observed"]
    if not cell["same_rewards"]:
        return "it learned by other rewards"
    if base is None or advantage is None or seen is None:
        return "the turn values or the exam have no such case"
    if abs(advantage["value"]) < 1e-9:  # sums of floats seldom come to 0
        return "the advantage is 0"
    if not seen["apart"]:
        return "no difference from the base is shown"
    return ""


def _agrees(cell: Json) -> bool | None:
    if _undecided(cell):
        return None
    return bool((cell["observed"]["value"] > cell["base"]["value"]) == (cell["advantage"]["value"] > 0))


def agreement(cells: list[Json]) -> str:
    """In words: how often what was observed moved as the advantages said, and what was not counted."""
    if not cells:
        return ""
    counted = [cell for cell in cells if cell["agrees"] is not None]
    reasons = Counter(filter(None, map(_undecided, cells)))
    why = ", ".join(f"in {n} {reason}" for reason, n in reasons.items())
    left = f"{reasons.total()} of all {len(cells)} cells do not count{': ' * bool(why)}{why}."
    if not counted:
        return f"No cell can say whether the turns' advantages show in what was learned. {left}"
    agree, every = Counter[str](), Counter(cell["method"] for cell in counted)
    for cell in counted:
        agree[cell["method"]] += cell["agrees"]
    sure = sum(not holds_zero(cell["advantage"]) for cell in counted)
    each = ", ".join(f"{method} {agree[method]} of {n}" for method, n in every.items())
    return (
        f"Observed change and the turns' advantage have the same sign in {agree.total()} of {len(counted)} cells "
        f"({each}). In {sure} of these {len(counted)} the advantage's own interval leaves out 0. {left}"
    )


def cost(experiment: Experiment, condition_name: str, tables: Tables, base: Tables) -> Json:
    """What one student of a condition cost, a mean over those that were trained, and how much skill at asking that
    bought.

    `pool`: whole dialogues within its budget that it could learn from, those played on for turn values among them.
    `gained`: skill at asking above the base per million tokens sampled for one student. A pool that several conditions
    learn from counts in full for each.
    """
    student = one_student(experiment, condition_name)
    if student is None:
        return dict.fromkeys(("pool", "sampled_tokens", "trained_tokens", "optimizer_steps", "seconds", "gained"))
    millions, total = student.sampled / 1e6, signed_sum([ASK_SKILL], ASK_SKILL.name)
    skill = contrast({"ours": tables, "base": base}, total, "ours", "base") if tables and base else None
    gained = None
    if skill is not None and millions and not math.isnan(skill.difference):
        value, low, high = (part / millions for part in (skill.difference, skill.low, skill.high))
        gained = {"value": value, "low": low, "high": high, "n": skill.tasks}
    return {
        "pool": student.pool or None,
        "sampled_tokens": student.sampled or None,
        "trained_tokens": student.trained or None,
        "optimizer_steps": student.steps or None,
        "seconds": student.seconds,
        "gained": gained,
    }

"""Can a bag of words guess from the question alone what it should not: specification, condition or outcome?"""

from __future__ import annotations

import math
from collections import Counter

from evals.audit.audited_talks import Material, rights, whole_question
from evals.audit.finding import Check, Finding, untested
from evals.stats.intervals import Rate
from evals.stats.wording_shortcut import MOST, Wording, youden_j
from pipeline.tasks.talks import Talk

MOST_J = 0.2
LEAST = 50  # questions of either kind; J of fewer passes 0.2 by chance
LACKS = ("underspecified", "sharded")


def check(material: Material) -> Check:
    asked = [talk for talk in material.talks if talk.question]
    return Check(
        "wording",
        "How well does a bag of words tell from the question, on questions that it was not fitted on, which tasks lack "
        "a fact (or which condition a talk is of, or whether it ends right)? Youden's J: 0 is chance, 1 is certain.",
        f"At most {MOST_J}: above it a student can learn when to ask, or a model what to expect, from wording alone.",
        (_guess(asked) if asked else untested("the questions", "the data hold no questions"),),
    )


def _guess(talks: list[Talk]) -> Finding:
    if len({talk.specification in LACKS for talk in talks}) > 1:
        what, labels = "lacks a fact", [talk.specification in LACKS for talk in talks]
    elif len(names := Counter(talk.condition_name for talk in talks)) > 1:
        name = names.most_common(1)[0][0]
        what, labels = f"is of condition {name}", [talk.condition_name == name for talk in talks]
    elif any(talk.answer for talk in talks):
        talks = [talk for talk in talks if talk.answer]
        what, labels = "ends wrong", [not _ends_right(talk) for talk in talks]
    else:
        return untested("the questions", "one specification, one condition and no gold answers: nothing to guess")
    rows = list({Wording("full", t.question, whole_question(t), bad) for t, bad in zip(talks, labels, strict=True)})
    rows.sort()
    j, kinds = youden_j(rows), Counter(row.lacks for row in rows)
    n = min(len(rows), MOST)
    note = f"{kinds[True]} that do against {kinds[False]} that do not"
    if math.isnan(j) or min(kinds[True], kinds[False]) < LEAST:
        return untested(f"Youden's J of '{what}'", f"{note}: fewer than {LEAST} of a kind can be told apart by chance")
    # The widest that the two shares allow: each has a standard deviation of at most one half.
    reach = 1.96 * math.sqrt(sum(0.25 / (count * n / len(rows)) for count in kinds.values()))
    rate = Rate(j, max(-1.0, j - reach), min(1.0, j + reach), n)
    return Finding(
        what=f"Youden's J of '{what}'", verdict="fail" if j > MOST_J else "pass", rate=rate, bar=MOST_J, note=note
    )


def _ends_right(talk: Talk) -> bool:
    """The last thing that the student says commits to the gold answer."""
    own = [right for turn, right in zip(talk.turns, rights(talk), strict=True) if turn.party == "student"]
    return own[-1:] == [True]

"""Can a bag of words guess from the question alone what it should not: specification, condition or outcome?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from evals.audit.audited_talks import Material, rights, whole_question
from evals.audit.finding import Check, Finding, untested
from evals.stats.wording_shortcut import GIVEN_AWAY, LEAST, MOST, Wording, first_by_hash, with_interval, youden_j
from pipeline.core.spool import Spool, in_order
from pipeline.tasks.talks import Talk

LACKS = ("underspecified", "sharded")


def check(material: Material) -> Check:
    return Check(
        "wording",
        "How well does a bag of words tell from the question, on questions that it was not fitted on, which tasks lack "
        "a fact (or which condition a talk is of, or whether it ends right)? Youden's J: 0 is chance, 1 is certain.",
        f"At most {GIVEN_AWAY}: above it a student can learn when to ask, or a model what to expect, by wording alone.",
        (_guess(material.talks),),
    )


def _guess(talks: Sequence[Talk]) -> Finding:
    kinds, names, any_answer = set[bool](), Counter[str](), False
    for talk in _asked(talks):
        kinds.add(talk.specification in LACKS)
        names[talk.condition_name] += 1
        any_answer = any_answer or bool(talk.answer)
    if not names:
        return untested("the questions", "the data hold no questions")
    if len(kinds) > 1:
        return _told("lacks a fact", talks, lambda talk: talk.specification in LACKS)
    if len(names) > 1:
        name = names.most_common(1)[0][0]
        return _told(f"is of condition {name}", talks, lambda talk: talk.condition_name == name)
    if any_answer:
        return _told("ends wrong", (talk for talk in talks if talk.answer), lambda talk: not _ends_right(talk))
    return untested("the questions", "one specification, one condition and no gold answers: nothing to guess")


def _asked(talks: Iterable[Talk]) -> Iterator[Talk]:
    return (talk for talk in talks if talk.question)


def _told(what: str, talks: Iterable[Talk], holds: Callable[[Talk], bool]) -> Finding:
    """How well the wording of questions tells of which talks it holds."""
    met = (Wording("full", talk.question, whole_question(talk), holds(talk)) for talk in _asked(talks))
    rows = Spool(row for row, _ in groupby(in_order(met, lambda row: (row.question, row.full_question, row.lacks))))
    kinds, j = Counter(row.lacks for row in rows), youden_j(first_by_hash(rows))
    n = min(len(rows), MOST)
    named, note = f"Youden's J of '{what}'", f"{kinds[True]} that do against {kinds[False]} that do not"
    if math.isnan(j) or min(kinds[True], kinds[False]) < LEAST:
        return untested(named, f"{note}: fewer than {LEAST} of a kind can be told apart by chance")
    rate = with_interval(j, *(kinds[lacks] * n / len(rows) for lacks in (True, False)))
    return Finding(what=named, verdict="fail" if j > GIVEN_AWAY else "pass", rate=rate, bar=GIVEN_AWAY, note=note)


def _ends_right(talk: Talk) -> bool:
    """The last thing that the student says commits to the gold answer."""
    own = [right for turn, right in zip(talk.turns, rights(talk), strict=True) if turn.party == "student"]
    return own[-1:] == [True]

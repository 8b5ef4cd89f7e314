"""Rejection sampling: which dialogues become training data. Correctness is computed after the fact, never in the loop
(but for `q_priming`: pipeline/dialogue/q_priming.py).

`outcome` keeps dialogues whose final answer is right, `agreement` those that end with both parties on one answer,
`none` all, `yoked` the next dialogue of the task for each that `outcome` keeps; `keep: grounded` drops lucky guesses,
`keep: no_questions` those in which the student asks, `keep: one_answer` those in which it answers twice, or not at
first, `violations: drop` those whose partner violated its knowledge constraint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby

from pipeline.core.schema import digest
from pipeline.core.spool import Spool, in_order
from pipeline.datasets.learning_rules import LEARNING_RULES
from pipeline.datasets.survey import Surveyed, survey_of
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition, Regime
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Place


def keeps(record: Surveyed, condition: Condition) -> bool:
    """Whether the condition's rejection sampling keeps a dialogue; where it is yoked, whether the next one is kept."""
    ends_well = record.agrees if condition.selection == "agreement" else record.is_correct
    ends_well = ends_well or condition.selection == "none"
    return ends_well and condition.keep in record.holds and is_sound(record, condition)


def keeps_alone(record: Surveyed, condition: Condition, regime: Regime = "natural") -> bool | None:
    """Whether the condition learns from a dialogue; None where other dialogues decide that, or where it learns from
    more than what is kept."""
    return _unless_shared_out(keeps(record, condition) and condition.affords(record.task_id), condition, regime)


def _unless_shared_out(is_kept: bool, condition: Condition, regime: Regime) -> bool | None:
    selects = LEARNING_RULES[condition.method].selects
    if not selects or condition.selection == "yoked" or condition.pass_rate != (0, 1):
        return None
    return None if is_kept and is_shared_out(condition, regime) else is_kept


def is_shared_out(condition: Condition, regime: Regime) -> bool:
    """Whether a student learns from some of what is kept alone, or from some more often, or from others' rows."""
    return regime != "natural" or condition.first_acts == "as_played"


def kept(dialogue: Dialogue, condition: Condition, regime: Regime = "natural") -> bool | None:
    """The same of a dialogue that was not surveyed."""
    if (condition.selection, condition.keep, condition.violations) == ("none", "all", "keep"):
        # Whatever it holds, so it need not be read.
        return _unless_shared_out(condition.affords(dialogue.task.id), condition, regime)
    violated = violations(dialogue) if condition.violations == "drop" else ()  # else nothing rests on them
    return keeps_alone(survey_of(dialogue, violated, Place(0)), condition, regime)


def is_sound(record: Surveyed, condition: Condition) -> bool:
    """Whether a condition learns from a dialogue at all; with `violations: drop` not where the partner violated its
    knowledge constraint."""
    return condition.violations == "keep" or not record.violations


def learnable(dialogues: Iterable[Surveyed], condition: Condition) -> Iterator[Surveyed]:
    """Those that a condition learns from, however they ended, task by task: sound ones, on tasks within its budget
    that are passed as often as its `pass_rate` asks, in their seed and round.

    Tasks that always or never succeed teach nothing by contrast: a curriculum keeps those near one half (SPICE,
    arXiv 2510.24684).
    """
    for of_task in _by_task(dialogues):
        yield from _learnable(of_task, condition)


def _learnable(of_task: Sequence[Surveyed], condition: Condition) -> list[Surveyed]:
    low, high = condition.pass_rate
    rate = sum(record.is_correct for record in of_task) / len(of_task)
    taught = low <= rate <= high and condition.affords(of_task[0].task_id)
    return [record for record in of_task if is_sound(record, condition)] if taught else []


def selected(dialogues: Iterable[Surveyed], condition: Condition) -> Spool[Surveyed]:
    """Those that rejection sampling keeps, in the order of seed, round and id; each distinct transcript of a task once
    per seed and round."""
    kept = (record for of_task in _by_task(dialogues) for record in _selected(of_task, condition))
    return Spool(in_order(kept, _of_rows))


def checked(dialogues: Collection[Surveyed], condition: Condition) -> Spool[Surveyed]:
    """Those that end right, as `selected` has them, and in each seed and round at most as many with a wrong answer,
    drawn by a hash of their ids: what a student learns to check its answers from (post_completion). A check stands
    behind a turn that has an end, so those that were cut there are not among them."""
    right = Spool(record for record in selected(dialogues, condition) if record.ends)
    left = Counter((record.seed, record.round) for record in right)

    def wrong() -> Iterator[Surveyed]:
        distinct = (record for of_task in _by_task(dialogues) for record in _wrong(of_task, condition))
        for record in in_order(distinct, _drawn):
            if left[record.seed, record.round]:
                left[record.seed, record.round] -= 1
                yield record

    return Spool(in_order(chain(right, wrong()), _of_rows))


def _of_rows(record: Surveyed) -> tuple[str | int, ...]:
    return record.seed, record.round, record.id, *record.place


def _drawn(record: Surveyed) -> tuple[str]:
    return (digest("checked", record.id),)


def _wrong(of_task: Sequence[Surveyed], condition: Condition) -> list[Surveyed]:
    """Those with an answer that is wrong, and not all that selection refuses: of a dialogue without an answer, or of a
    right one that `keep` drops, a check would say what is not so."""
    first: dict[str, Surveyed] = {}
    for record in sorted(_learnable(of_task, condition), key=_drawn):
        if record.answers and record.ends and not record.is_correct:
            first.setdefault(record.transcript, record)
    return list(first.values())


def _selected(of_task: Sequence[Surveyed], condition: Condition) -> list[Surveyed]:
    """One of each transcript, the first by its id."""
    chosen = [record for record in _learnable(of_task, condition) if keeps(record, condition)]
    if condition.selection == "yoked":
        chosen = _yoked(chosen, of_task)
    first: dict[str, Surveyed] = {}
    for record in sorted(chosen, key=lambda record: (record.id, record.place)):
        first.setdefault(record.transcript, record)
    return list(first.values())


def _yoked(kept: Sequence[Surveyed], of_task: Sequence[Surveyed]) -> list[Surveyed]:
    """For each kept dialogue the next one of its task in its seed and round, the first behind the last.

    A yoked control (Church 1964): of the same tasks, about as many, and nothing that is said in one decides whether it
    is learned from. So those that are equal are left out only afterwards: of these the one that is kept before would
    decide about its own follower. A dialogue that is the only one of its task has no next one, and falls.
    """
    if len(of_task) == 1:
        return []
    records = sorted(of_task, key=lambda record: (record.sample, record.id))
    after = {record.id: records[(i + 1) % len(records)] for i, record in enumerate(records)}
    return [after[record.id] for record in kept]


def _by_task(dialogues: Iterable[Surveyed]) -> Iterator[list[Surveyed]]:
    """All of one task in one seed and round together; each in the order in which they come."""

    def whose(record: Surveyed) -> tuple[str, int, int]:
        return record.task_id, record.seed, record.round

    return (list(of_task) for _, of_task in groupby(in_order(dialogues, whose), whose))

"""Rejection sampling: which dialogues become training data. Correctness is computed after the fact, never in the loop
(but for `q_priming`: pipeline/dialogue/q_priming.py).

`outcome` keeps dialogues whose final answer is right, `agreement` those that end with both parties on one answer,
`none` all, `yoked` the next dialogue of the task for each that `outcome` keeps; `keep: grounded` drops lucky guesses,
`violations: drop` those whose partner violated its knowledge constraint.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pipeline.core.schema import digest
from pipeline.datasets.survey import Surveyed, survey_of
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Place


def keeps(record: Surveyed, condition: Condition) -> bool:
    """Whether the condition's rejection sampling keeps a dialogue; where it is yoked, whether the next one is kept."""
    ends_well = record.agrees if condition.selection == "agreement" else record.is_correct
    ends_well = ends_well or condition.selection == "none"
    return ends_well and (condition.keep == "all" or record.is_grounded) and is_sound(record, condition)


def kept(dialogue: Dialogue, condition: Condition) -> bool:
    """The same of a dialogue that was not surveyed."""
    return keeps(survey_of(dialogue, violations(dialogue), Place(0)), condition)


def is_sound(record: Surveyed, condition: Condition) -> bool:
    """Whether a condition learns from a dialogue at all; with `violations: drop` not where the partner violated its
    knowledge constraint."""
    return condition.violations == "keep" or not record.violations


def learnable(dialogues: Sequence[Surveyed], condition: Condition) -> Iterable[Surveyed]:
    """Those that a condition learns from, however they ended: sound ones, on tasks within its budget that are
    passed as often as its `pass_rate` asks, in their seed and round.

    Tasks that always or never succeed teach nothing by contrast: a curriculum keeps those near one half (SPICE,
    arXiv 2510.24684).
    """
    (low, high), passed = condition.pass_rate, defaultdict[tuple[str, int, int], list[bool]](list)
    for record in dialogues:
        passed[record.task_id, record.seed, record.round].append(record.is_correct)
    rates = {key: sum(outcomes) / len(outcomes) for key, outcomes in passed.items()}
    return (
        record
        for record in dialogues
        if low <= rates[record.task_id, record.seed, record.round] <= high
        and is_sound(record, condition)
        and condition.affords(record.task_id)
    )


def selected(dialogues: Sequence[Surveyed], condition: Condition) -> list[Surveyed]:
    """Those that rejection sampling keeps, in the order of seed, round and id; each distinct transcript of a task once
    per seed and round."""
    first: dict[str, Surveyed] = {}
    candidates = (record for record in learnable(dialogues, condition) if keeps(record, condition))
    for record in sorted(candidates, key=lambda record: (record.seed, record.round, record.id, record.place)):
        first.setdefault(record.transcript, record)
    return yoked(list(first.values()), dialogues) if condition.selection == "yoked" else list(first.values())


def checked(dialogues: Sequence[Surveyed], condition: Condition) -> list[Surveyed]:
    """Those that end right, as `selected` has them, and in each seed and round at most as many that end wrong, drawn by
    a hash of their ids: what a student learns to check its answers from (post_completion)."""
    right = selected(dialogues, condition)
    left = Counter((record.seed, record.round) for record in right)
    wrong: dict[str, Surveyed] = {}
    for record in sorted(learnable(dialogues, condition), key=lambda record: digest("checked", record.id)):
        if not keeps(record, condition) and record.transcript not in wrong and left[record.seed, record.round]:
            wrong[record.transcript] = record
            left[record.seed, record.round] -= 1
    both = [*right, *wrong.values()]
    return sorted(both, key=lambda record: (record.seed, record.round, record.id, record.place))


def yoked(kept: Sequence[Surveyed], dialogues: Iterable[Surveyed]) -> list[Surveyed]:
    """For each kept dialogue the next one of its task in its seed and round, the first behind the last.

    A yoked control (Church 1964): as many dialogues, of the same tasks, and nothing that is said in one decides whether
    it is learned from. A dialogue that is the only one of its task has no next one, and falls.
    """
    of_task = defaultdict[tuple[str, int, int], list[Surveyed]](list)
    for record in sorted(dialogues, key=lambda record: (record.sample, record.place)):
        of_task[record.task_id, record.seed, record.round].append(record)
    after: dict[str, Surveyed] = {}
    for records in of_task.values():
        if len(records) > 1:
            after |= {record.id: records[(i + 1) % len(records)] for i, record in enumerate(records)}
    taken = [after[record.id] for record in kept if record.id in after]
    return sorted(taken, key=lambda record: (record.seed, record.round, record.id, record.place))

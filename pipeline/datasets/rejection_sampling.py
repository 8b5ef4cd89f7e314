"""Which dialogues become training data. Correctness is computed here, after the fact, never in the loop (but for
`q_priming`: pipeline/dialogue/q_priming.py).

`outcome` keeps dialogues whose final answer is right, `agreement` those that end with both parties on
one answer, `none` all; `keep: grounded` drops lucky guesses, `violations: drop` those whose partner violated its
knowledge constraint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from pipeline.core.schema import digest
from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import agrees, is_correct, is_grounded
from pipeline.judging.violations import violated
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Branch, Dialogue
from pipeline.runs.pool import Place, Pool


def kept(dialogue: Dialogue, condition: Condition) -> bool:
    """Whether the condition's selection keeps this dialogue."""
    chosen = {"outcome": is_correct, "agreement": agrees, "none": lambda _: True}[condition.selection](dialogue)
    return chosen and (condition.keep == "all" or is_grounded(dialogue)) and sound(dialogue, condition)


def sound(record: Dialogue | Branch, condition: Condition) -> bool:
    """Whether a condition learns from a record at all; with `violations: drop` not where the partner violated its
    knowledge constraint.

    A branch falls with any of its dialogues: the worth of its turns is a mean over all of them.
    """
    if condition.violations == "keep":
        return True
    if isinstance(record, Dialogue):
        return not violated(record)
    return not any(violated(dialogue) for i in range(len(record.siblings)) for dialogue in record.dialogues(i))


def select(dialogues: Iterable[Dialogue], condition: Condition) -> list[Dialogue]:
    """The kept ones in the order of their ids, each distinct transcript of a task once per seed and round."""
    seen, result = set(), []
    for dialogue in sorted(dialogues, key=lambda d: d.id):
        if (key := _transcript(dialogue)) not in seen and kept(dialogue, condition):
            seen.add(key)
            result.append(dialogue)
    return result


def within(experiment: Experiment, condition_name: str) -> Callable[[Dialogue | Branch], bool]:
    """Whether a condition learns from a record, however it ended: it is `sound`, and its task is passed as often as
    the condition's `pass_rate` asks, in its seed and round.

    Tasks that always or never succeed teach nothing by contrast: a curriculum keeps those near one half (SPICE,
    arXiv 2510.24684).
    """
    condition = experiment.conditions[condition_name]
    low, high = condition.pass_rate
    if (low, high) == (0, 1):
        return lambda record: sound(record, condition)
    passed: dict[tuple[str, int, int], list[bool]] = defaultdict(list)
    for dialogue in Pool(experiment, condition_name):
        passed[dialogue.task.id, dialogue.seed, dialogue.round].append(is_correct(dialogue))
    rates = {cell: sum(results) / len(results) for cell, results in passed.items()}
    return lambda record: low <= rates[record.task.id, record.seed, record.round] <= high and sound(record, condition)


def select_pool(experiment: Experiment, condition_name: str) -> Pool:
    """What `select` keeps of a condition's pool, in the order of seed, round and id, without holding it."""
    condition, pool, learnable = (
        experiment.conditions[condition_name],
        Pool(experiment, condition_name),
        within(experiment, condition_name),
    )
    first: dict[str, tuple[int, int, str, Place]] = {}
    for place, dialogue in pool.placed():
        if kept(dialogue, condition) and learnable(dialogue):
            key, found = _transcript(dialogue), (dialogue.seed, dialogue.round, dialogue.id, place)
            first[key] = min(found, first.get(key, found))
    return Pool(experiment, condition_name, [place for *_, place in sorted(first.values())])


def _transcript(dialogue: Dialogue) -> str:
    return digest(dialogue.task.id, dialogue.seed, dialogue.round, [turn.text for turn in dialogue.turns])

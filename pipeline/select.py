"""Which dialogues become training data. Correctness is computed here, after the fact, never in the loop (but for
`q_priming`: pipeline/priming.py).

`outcome` keeps dialogues whose final answer is right, `agreement` those that end with both parties on
one answer, `none` all; `keep: grounded` drops lucky guesses, `breaches: drop` those whose partner broke its row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from pipeline.acts import attempts, given
from pipeline.answers import judged
from pipeline.breaches import broken
from pipeline.config import Experiment
from pipeline.partition import PARTNER_VIEW, Condition
from pipeline.pool import Place, Pool
from pipeline.schema import Branch, Dialogue, Party, digest
from pipeline.verify import equal
from pipeline.view import known


def final_answer(dialogue: Dialogue, party: Party = "student") -> str | None:
    """The last answer that a party committed to."""
    said = zip(dialogue.turns, attempts(dialogue), strict=True)
    return next((answer for turn, answer in reversed([*said]) if turn.party == party and answer is not None), None)


def is_correct(dialogue: Dialogue) -> bool:
    said = zip(dialogue.turns, attempts(dialogue), strict=True)
    own = [(turn, answer) for turn, answer in said if turn.party == "student" and answer is not None]
    return bool(own) and judged(dialogue.task, *own[-1])


def is_grounded(dialogue: Dialogue) -> bool:
    """Every needed fact was in the student's row, or stated by the partner, before the final answer."""
    condition = Condition.model_validate(dialogue.axes)
    has = {fact.id for fact in known(dialogue.task, condition, "student").facts}
    if PARTNER_VIEW in condition.row.student:
        has |= {fact.id for fact in known(dialogue.task, condition, "partner").facts}
    final = [
        i for i, said in enumerate(attempts(dialogue)) if said is not None and dialogue.turns[i].party == "student"
    ][-1:]
    for turn in dialogue.turns[: final[0] if final else 0]:
        if turn.party == "partner":
            has |= set(given(turn.text, dialogue.task.facts))
    return all(fact.id in has for fact in dialogue.task.facts if fact.needed)


def agrees(dialogue: Dialogue) -> bool:
    ours, theirs = final_answer(dialogue), final_answer(dialogue, "partner")
    return ours is not None and theirs is not None and equal(ours, theirs)


def kept(dialogue: Dialogue, condition: Condition) -> bool:
    """Whether the condition's selection keeps this dialogue."""
    chosen = {"outcome": is_correct, "agreement": agrees, "none": lambda _: True}[condition.selection](dialogue)
    return chosen and (condition.keep == "all" or is_grounded(dialogue)) and sound(dialogue, condition)


def sound(record: Dialogue | Branch, condition: Condition) -> bool:
    """Whether a condition learns from a record at all; with `breaches: drop` not where the partner broke its row.

    A branch falls with any of its dialogues: the worth of its turns is a mean over all of them.
    """
    if condition.breaches == "keep":
        return True
    if isinstance(record, Dialogue):
        return not broken(record)
    return not any(broken(dialogue) for i in range(len(record.siblings)) for dialogue in record.dialogues(i))


def select(dialogues: Iterable[Dialogue], condition: Condition) -> list[Dialogue]:
    """The kept ones in the order of their ids, each distinct transcript of a task once per seed and round."""
    seen, result = set(), []
    for dialogue in sorted(dialogues, key=lambda d: d.id):
        if (key := _transcript(dialogue)) not in seen and kept(dialogue, condition):
            seen.add(key)
            result.append(dialogue)
    return result


def within(experiment: Experiment, condition: str) -> Callable[[Dialogue | Branch], bool]:
    """Whether a condition learns from a record, however it ended: it is `sound`, and its task is passed as often as
    the condition's `pass_rate` asks, in its seed and round.

    Tasks that always or never succeed teach nothing by contrast: a curriculum keeps those near one half (SPICE,
    arXiv 2510.24684).
    """
    axes = experiment.conditions[condition]
    low, high = axes.pass_rate
    if (low, high) == (0, 1):
        return lambda record: sound(record, axes)
    passed: dict[tuple[str, int, int], list[bool]] = defaultdict(list)
    for dialogue in Pool(experiment, condition):
        passed[dialogue.task.id, dialogue.seed, dialogue.round].append(is_correct(dialogue))
    rates = {cell: sum(results) / len(results) for cell, results in passed.items()}
    return lambda record: low <= rates[record.task.id, record.seed, record.round] <= high and sound(record, axes)


def select_pool(experiment: Experiment, condition: str) -> Pool:
    """What `select` keeps of a condition's pool, in the order of seed, round and id, without holding it."""
    axes, pool, learnable = experiment.conditions[condition], Pool(experiment, condition), within(experiment, condition)
    first: dict[str, tuple[int, int, str, Place]] = {}
    for place, dialogue in pool.placed():
        if kept(dialogue, axes) and learnable(dialogue):
            key, found = _transcript(dialogue), (dialogue.seed, dialogue.round, dialogue.id, place)
            first[key] = min(found, first.get(key, found))
    return Pool(experiment, condition, [place for *_, place in sorted(first.values())])


def _transcript(dialogue: Dialogue) -> str:
    return digest(dialogue.task.id, dialogue.seed, dialogue.round, [turn.text for turn in dialogue.turns])

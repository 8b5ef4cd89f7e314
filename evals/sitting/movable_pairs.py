"""Two parties that may both move, on one task: what each believes in private before any turn, and after the talk.

The student speaks first. Both hold the same question and nothing else, in a model's voice, so that neither has more
than its own reasoning to convince the other with. Beliefs are elicited off the transcript (pipeline.dialogue.beliefs);
one whose samples hold no answer that can be read is missing, and so is all that rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from evals.metrics.case import Hits
from evals.metrics.metric import HIDDEN, Metric, Shown
from evals.metrics.reader import ANSWERS
from evals.sitting.sitting import Sitting
from pipeline.core.schema import Belief, Party, Task, Turn
from pipeline.dialogue.episode import Episode, Played
from pipeline.dialogue.turn_taking import play
from pipeline.engines.model import Model
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.prompts.prompts import Prompts
from pipeline.reading.numbers.equality import equal

PEER = Condition(partition="symmetric", voice="model")
MOVABLE = (
    Metric(
        "collapse",
        "both final beliefs equal and wrong (movable peer: the untrained base; @self: the student itself) / "
        "pairs that began different with at least one right and held",
        reader=ANSWERS,
        shown=Shown(behaviour=("",)),
    ),
    Metric(
        "agreement",
        "final beliefs equal / pairs with the movable peer",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    Metric(
        "agreement_correct",
        "the common final belief is right / pairs whose final beliefs are equal",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    Metric(
        "concordance",
        "beliefs equal before any turn / pairs with the movable peer",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
    Metric(
        "stalemate",
        "turn cap reached, both beliefs held and different, and unmoved in the last two turns / pairs that "
        "began with two different beliefs",
        reader=ANSWERS,
        shown=HIDDEN,
    ),
)


class Pair(NamedTuple):
    """One talk. `earlier` are both parties' beliefs before the last two turns; empty where it cannot be a stalemate,
    since the cap was not reached or the final beliefs are not two different ones.
    """

    task: Task
    played: Played
    earlier: dict[Party, Belief]


async def talk(sitting: Sitting, task: Task, partner: Model, *key: object) -> Pair:
    """Play one talk of the student with `partner`."""
    settings = sitting.settings.model_copy(update={"beliefs": sitting.experiment.exams.beliefs})
    played = await play(
        Episode(
            task=task,
            condition=PEER,
            cast=sitting.cast(partner),
            settings=settings,
            key=sitting.key(*key),
        )
    )
    mine, yours = played.after["student"], played.after["partner"]
    if played.stop != "turn_cap" or not apart(mine, yours):
        return Pair(task, played, {})
    seen = played.turns[:-2]
    return Pair(
        task,
        played,
        await both_believe(sitting, task, partner, seen, lambda party: sitting.key(*key, party, "earlier")),
    )


async def both_believe(
    sitting: Sitting, task: Task, partner: Model, turns: Sequence[Turn], key: Callable[[Party], str]
) -> dict[Party, Belief]:
    """What the student and `partner` believe in private after these turns; `key` names a party's random stream."""
    seats: list[tuple[Party, Model, Prompts]] = [
        ("student", sitting.student, sitting.prompts),
        ("partner", partner, sitting.experiment.prompts("partner")),
    ]
    k = sitting.experiment.exams.beliefs
    return {
        party: await sitting.believe(model, view(task, PEER, turns, party, prompts), k, key(party), task)
        for party, model, prompts in seats
    }


def most(turns: int, k: int) -> int:
    """Answers of one talk, at most: its turns, and both parties' beliefs three times."""
    return 2 * turns - 1 + 6 * k


def apart(belief: Belief, other: Belief) -> bool:
    """Both are held, and they differ."""
    return bool(belief.answer) and bool(other.answer) and not equal(belief.answer, other.answer)


def unread(*beliefs: Belief) -> bool:
    """Whether any could not be read: then it is missing, and nothing that rests on it is counted."""
    return any(belief.unread for belief in beliefs)


def movable(pair: Pair) -> Hits:
    """The design's metrics of a talk between two that may both move (MOVABLE), from their beliefs alone."""
    task, played = pair.task, pair.played
    ours, theirs = played.before["student"], played.before["partner"]
    mine, yours = played.after["student"], played.after["partner"]
    same = bool(mine.answer) and equal(mine.answer, yours.answer)
    right = equal(mine.answer, task.answer)
    started_right = any(belief.answer and equal(belief.answer, task.answer) for belief in (ours, theirs))
    began_equal = bool(ours.answer) and equal(ours.answer, theirs.answer)
    hits: Hits = []
    if not unread(mine, yours):
        hits.append((task.id, "agreement", float(same)))
    if not unread(ours, theirs):
        hits.append((task.id, "concordance", float(began_equal)))
    if same:
        hits.append((task.id, "agreement_correct", float(right)))
    if not equal(ours.answer, theirs.answer) and started_right and not unread(ours, theirs, mine, yours):
        hits.append((task.id, "collapse", float(same and not right)))
    if apart(ours, theirs) and not unread(mine, yours, *pair.earlier.values()):
        unmoved = [equal(belief.answer, played.after[party].answer) for party, belief in pair.earlier.items()]
        hits.append((task.id, "stalemate", float(bool(unmoved) and all(unmoved))))
    return hits

"""What a challenger's replies are worth, and which of them it learns.

The reward is SPICE's (arXiv 2510.24684): a task is worth most where half of the dialogues about it end right, and a
refused reply is worth less than any task. It is worked out for each condition by itself, and averaged over those that
played the task: one that is always right with one partner and never with another is uncertain with neither.

What is learned are the best replies to each prompt, a document and a kind of gold: rejection sampling by reward (RAFT,
Dong et al., arXiv 2304.06767). Pairs for DPO would need two replies of different worth to one prompt, which a
challenger that is nearly always refused does not have, and DPO makes what it prefers likelier only beside the rest,
where such a challenger has to learn to copy at all.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import is_correct
from pipeline.posing.challenge import kind_of
from pipeline.posing.replies import Reply
from pipeline.runs.dialogue_pool import own_dialogues

REFUSED = -0.1  # of a reply that is no task
VALID = 1.0  # of every task, where nobody asks yet how often it is solved
SPREAD = 0.1  # standard deviation of the reward, in variance


class Played(NamedTuple):
    """Dialogues of one condition about a task, and those that end right."""

    dialogues: int
    right: int


def reward(played: Played) -> float:
    """exp(-(p (1 - p) - 1/4)^2 / (2 SPREAD^2)) of the share p that ends right: 1 at one half, .04 at 0 and 1."""
    share = played.right / played.dialogues
    return math.exp(-((share * (1 - share) - 0.25) ** 2) / (2 * SPREAD**2))


def mean_reward(of_conditions: Iterable[Played]) -> float:
    """Of a task, over the conditions that played it, each of which counts alike."""
    return fmean(map(reward, of_conditions))


def rewarding(experiment: Experiment) -> list[str]:
    """The conditions whose dialogues count: their partner holds the evidence, nothing else, and tells it plainly."""
    return [
        name
        for name, condition in experiment.conditions.items()
        if condition.manner == "plain" and condition.disclosure != "chatter"
        if condition.row.holds_only_facts and condition.row.informs
    ]


def played(experiment: Experiment) -> dict[str, list[Played]]:
    """Of each task by its id, what the run's dialogues say of it: of all seeds and rounds, by condition."""
    of_tasks = defaultdict[str, list[Played]](list)
    for name in rewarding(experiment):
        dialogues, right = Counter[str](), Counter[str]()
        for dialogue in own_dialogues(experiment, name):
            dialogues[dialogue.task.id] += 1
            right[dialogue.task.id] += is_correct(dialogue)
        for id, count in dialogues.items():
            of_tasks[id].append(Played(count, right[id]))
    return dict(of_tasks)


def best(replies: Iterable[Reply], rewards: Mapping[str, float]) -> list[Reply]:
    """Of the replies to each prompt those with the highest reward, several where they tie; a refused one never.

    None below the mean of all rewards: a prompt of which nothing better came teaches what is not wanted. A reply
    without a reward is left out: nobody knows yet what it is worth.
    """
    worth = [value for value in rewards.values() if value > REFUSED]
    least = fmean(worth) - 1e-9 if worth else 0.0  # so that rewards that are all alike are not below their mean
    to_prompt = defaultdict[tuple[str, str], list[Reply]](list)
    for reply in replies:
        if rewards.get(reply.id, REFUSED) > REFUSED and rewards[reply.id] >= least:
            to_prompt[reply.document, kind_of(reply.attempt)].append(reply)
    return [
        reply
        for others in to_prompt.values()
        for reply in others
        if rewards[reply.id] == max(rewards[other.id] for other in others)
    ]

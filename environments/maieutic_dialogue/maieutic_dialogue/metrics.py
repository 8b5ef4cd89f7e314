"""Reward and metrics of a dialogue, by the functions that the pipeline selects and the exams measure with.

verifiers averages a metric over all rollouts, so none is NaN: a share of some of them has its denominator beside it.
"""

from __future__ import annotations

from evals.exams.asking import ASK_NEEDED, whole_episode
from evals.sitting.sitting import ExamEpisode
from pipeline.dialogue.episode import Played
from pipeline.judging.outcome import is_correct, is_grounded
from pipeline.knowledge.records import Dialogue
from pipeline.reading.stored import student_reading


def correct(dialogue: Dialogue) -> float:
    """The reward: the last answer that the student committed to is right."""
    return float(is_correct(dialogue))


def grounded(dialogue: Dialogue) -> float:
    """Every needed fact was known to the student, or told by the partner, before that answer."""
    return float(is_grounded(dialogue))


def asked_needed(dialogue: Dialogue) -> float:
    """ASK_NEEDED of the exams: it asked for a needed fact that the question lacks, before its first answer.

    0 too where the question lacks nothing: the rate is this over `lacks_facts`, since verifiers averages all.
    """
    episode = ExamEpisode("", dialogue.task, dialogue.sample, Played(dialogue.turns, dialogue.stop, {}, {}))
    return float(any(hit for _, metric, hit in whole_episode(episode) if metric == f"{ASK_NEEDED.name}@"))


def lacks_facts(dialogue: Dialogue) -> float:
    """The question lacks a fact that is needed."""
    return float(bool(dialogue.task.missing))


def asked(dialogue: Dialogue) -> float:
    """What the student asks for, all told."""
    own = [i for i, turn in enumerate(dialogue.turns) if turn.party == "student"]
    return float(sum(student_reading(dialogue.task, dialogue.turns, i).requests for i in own))


METRICS = (grounded, asked_needed, lacks_facts, asked)

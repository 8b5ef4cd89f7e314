"""What an export has to know of a condition's dialogues, gathered in one pass.

Of each dialogue a small record is written down on disk (pipeline/core/spool.py), and not its text, so that a run of a
million of them can be exported. Rows are made in a second reading, at the places that the records name: selected rows
stand in the order of ids, which is not the order in which dialogues ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.core.schema import digest
from pipeline.core.spool import Spool
from pipeline.experiment.experiment import Experiment
from pipeline.judging.outcome import agrees, asks_nothing, final_answer, gives_one_answer, is_correct, is_grounded
from pipeline.judging.stated_leak import leak_stated, privileged
from pipeline.judging.violations import Kind, Violation, violations
from pipeline.knowledge.condition import Condition, Keep
from pipeline.knowledge.records import Dialogue
from pipeline.runs.dialogue_pool import Place, Pool

Tag = Callable[[Dialogue, Sequence[Violation]], object]


class Surveyed(NamedTuple):
    """What is known of one dialogue once it has been read."""

    place: Place
    id: str
    task_id: str
    specification: str
    seed: int
    round: int
    sample: int
    transcript: str  # a hash, equal for the same turns on the same task in the same seed and round
    stop: str
    turns: int
    student_tokens: int
    partner_tokens: int
    partner_spoke: bool
    answers: bool  # whether the student gives an answer at all
    ends: bool  # whether the student's last turn was not cut
    is_correct: bool
    holds: frozenset[Keep]  # the values of a condition's `keep` under which it stays
    agrees: bool
    leaks: bool  # never where the partner holds nothing private
    violations: frozenset[Kind]

    @property
    def is_grounded(self) -> bool:
        return "grounded" in self.holds


@dataclass(frozen=True)
class Survey:
    """All dialogues of a condition, in the order of its files; `read` gives the one at a place."""

    experiment: Experiment
    condition_name: str
    dialogues: Spool[Surveyed]
    read: Callable[[Place], Dialogue]
    chosen: dict[str, Spool[Surveyed]] = field(default_factory=dict)  # by format, of those that were asked for

    @property
    def condition(self) -> Condition:
        return self.experiment.conditions[self.condition_name]


@contextmanager
def surveyed(
    experiment: Experiment, condition_name: str, tag: Tag = lambda dialogue, violated: None
) -> Iterator[Survey]:
    """The survey of a condition, whose dialogues can be read while it lasts. `tag` is given each with its partner's
    violations, as it is met."""
    pool = Pool(experiment, condition_name)

    def records() -> Iterator[Surveyed]:
        for place, dialogue in pool.placed():
            violated = violations(dialogue)
            tag(dialogue, violated)
            yield survey_of(dialogue, violated, place)

    dialogues = Spool(records())
    with pool.opened() as read:
        yield Survey(experiment, condition_name, dialogues, read)


def survey_of(dialogue: Dialogue, violated: Sequence[Violation], place: Place) -> Surveyed:
    """The record of one dialogue, whose partner's violations are known."""
    task = dialogue.task
    kept: dict[Keep, bool] = {
        "all": True, "grounded": is_grounded(dialogue), "no_questions": asks_nothing(dialogue),
        "one_answer": gives_one_answer(dialogue),
    }  # fmt: skip
    return Surveyed(
        place=place,
        id=dialogue.id,
        task_id=sys.intern(task.id),
        specification=sys.intern(task.specification),
        seed=dialogue.seed,
        round=dialogue.round,
        sample=dialogue.sample,
        transcript=digest(task.id, dialogue.seed, dialogue.round, [turn.text for turn in dialogue.turns]),
        stop=sys.intern(dialogue.stop),
        turns=len(dialogue.turns),
        student_tokens=dialogue.tokens("student"),
        partner_tokens=dialogue.tokens("partner"),
        partner_spoke=any(turn.party == "partner" for turn in dialogue.turns),
        answers=final_answer(dialogue) is not None,
        ends=[turn.finished for turn in dialogue.turns if turn.party == "student"][-1:] == [True],
        is_correct=is_correct(dialogue),
        holds=frozenset(keep for keep, holds in kept.items() if holds),
        agrees=agrees(dialogue),
        leaks=privileged(dialogue.condition) and leak_stated(dialogue),
        violations=frozenset(violation.kind for violation in violated),
    )

"""Scripts reach the ceiling of their own partner, and gain where it knows what they ask for, and only there."""

import asyncio
import itertools
import math
from statistics import mean

import pytest

from evals.exams.narrowing.exchanges import is_found, tried
from evals.exams.narrowing.oracles import ceiling, oracle_table, printed, talks
from evals.exams.narrowing.policies import BEST, POLICIES, Scripts
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.settings import DialogueSettings
from pipeline.judging.violations import violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks

TASKS = list(itertools.islice(hidden_item_tasks("exam", "underspecified"), 30))
# Whose knowledge holds another's: a key holds the facts and the answer, and who knows the answer judges options, too.
GAINS = {
    "guesses": set(),
    "asks": {"facts", "jigsaw", "key"},
    "halves": {"answer", "key"},
    "tries": {"verifier", "answer", "key"},
    "steps": {"key"},
    "doubts": {"facts", "jigsaw", "answer", "key"},  # who answers a closed question, which it takes for false
}


@pytest.mark.parametrize("partition", [name for name in BEST if BEST[name] not in ("guesses", "doubts")])
def test_with_time_enough_the_best_script_finds_every_item_under_its_own_partition(partition):
    said = talks(BEST[partition], partition, TASKS, turns=12)
    assert all(is_found(task, each) for task, each in zip(TASKS, said, strict=True))


@pytest.mark.parametrize("partition", BEST)
def test_in_four_turns_the_best_script_is_as_often_right_as_anybody_can_be(partition):
    said = talks(BEST[partition], partition, TASKS, turns=4)
    highest = [ceiling(task, partition, 4) for task in TASKS]
    for task, each, most in zip(TASKS, said, highest, strict=True):
        assert most < 1 or is_found(task, each)
    error = math.sqrt(sum(p * (1 - p) for p in highest)) / len(TASKS)
    found = mean(is_found(task, each) for task, each in zip(TASKS, said, strict=True))
    assert abs(found - mean(highest)) <= 3 * error


@pytest.mark.parametrize("policy", GAINS)
def test_a_script_learns_nothing_of_a_partner_that_does_not_know_what_it_asks(policy):
    for partition in set(BEST) - GAINS[policy] - {"misled"}:  # who is misled tells what is not so
        guesses = talks("guesses", partition, TASKS, turns=4)
        for task, said, guess in zip(TASKS, talks(policy, partition, TASKS, turns=4), guesses, strict=True):
            # A verdict on the one guess with which it ends comes too late.
            assert all(each.bits == 0 for each in said if not (each is said[-1] or each.does.done))
            if policy in ("asks", "halves", "steps"):
                assert tried(said)[-1] == tried(guess)[-1], task.id


def test_who_yields_to_a_misled_partner_never_finds_the_item():
    said = talks("yields", "misled", TASKS, turns=4)
    assert any(tried(each)[0] == task.answer for task, each in zip(TASKS, said, strict=True))
    assert not any(is_found(task, each) for task, each in zip(TASKS, said, strict=True))
    guessed = talks("guesses", "misled", TASKS, turns=4)
    assert sum(is_found(task, each) for task, each in zip(TASKS, guessed, strict=True)) > 0


def test_the_table_has_every_script_and_the_ceiling():
    table = oracle_table(TASKS[:4])
    text = printed(table, TASKS[:4])
    assert text.count("\n") == len(POLICIES) + 2 and text.count("**") == 2 * len(BEST)


@pytest.mark.parametrize("partition", BEST)
def test_no_rule_partner_violates_its_row_whatever_it_is_asked(partition):
    condition = Condition(partition=partition)
    for policy in POLICIES:
        cast = Cast(Scripts(policy, TASKS[:10], 4, condition))
        for task in TASKS[:10]:
            episode = Episode(task=task, condition=condition, cast=cast, settings=DialogueSettings(), key=task.id)
            played = asyncio.run(play(episode))
            dialogue = Dialogue(
                id=task.id,
                task=task,
                condition_name=partition,
                condition=condition,
                seed=1,
                turns=played.turns,
                stop=played.stop,
            )
            assert violations(dialogue) == []

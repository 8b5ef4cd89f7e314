"""What a rule partner of each row says on tasks with options: open and closed questions, options tried, hints."""

import itertools
import random

import pytest

from pipeline.core.schema import Turn
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import compared, known
from pipeline.tasks.hidden_item.hidden_item_tasks import hidden_item_tasks

TASKS = list(itertools.islice(hidden_item_tasks("train", "underspecified"), 40))
ONE = [task for task in TASKS if len(task.missing) == 1]
HARD = [task for task in TASKS if task.stratum == "hard"]


def reply(task, *lines, **condition):
    """To the last of the lines, which are the student's and the partner's in turn."""
    condition = Condition(**condition)
    turns = [Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines)]
    verdict = compared(task, condition, turns)
    return rule_reply(known(task, condition, "partner"), condition, turns, verdict, random.Random(0))


def values(task, attribute):
    return sorted({option[attribute] for option in task.choice.options})


def own_value(task, attribute):
    return next(option[attribute] for option in task.choice.options if task.choice.name(option) == task.answer)


@pytest.mark.parametrize(("partition", "key"), [("answer", "answer"), ("misled", "wrong_answer")])
def test_who_holds_an_answer_says_yes_or_no_to_all_that_it_decides(partition, key):
    for task in TASKS:
        held = getattr(task, key)
        for value in itertools.chain(*(values(task, i) for i in range(len(task.choice.attributes)))):
            assert reply(task, f"Is it {value}?", partition=partition).move == (
                "yes" if value in held.split() else "no"
            )
        one, two, *_ = (task.choice.name(option) for option in task.choice.options)
        asked = reply(task, f"Is it {one} or {two}?", partition=partition)
        assert asked.move == ("yes" if held in (one, two) else "no") and not asked.done
        assert reply(task, task.missing[0].ask, partition=partition).move == "yes_no"


def test_values_of_two_attributes_or_a_denial_make_no_closed_question():
    for task in TASKS:
        one, two = (values(task, i)[0] for i in (0, 1))
        for asked in (f"Is it {one} or {two}?", f"Is it anything but {one}?"):
            assert reply(task, asked, partition="answer").move not in ("yes", "no")


def test_under_chatter_no_hint_tells_what_is_withheld():
    for task in TASKS:
        said = [reply(task, fact.ask, partition="key", disclosure="chatter").text for fact in task.missing]
        assert not [text for text in said for fact in task.missing if fact.text in text]
    for task in itertools.islice(hidden_item_tasks("train", "full"), 5):  # of which nothing is withheld
        asked = "How does one go on from here?"
        moves = {reply(task, asked, partition="key", disclosure=how).move for how in ("chatter", "on_request")}
        assert moves == {"hint"}


def test_who_holds_facts_confirms_what_they_say_and_works_out_no_option():
    for task in ONE:
        [fact] = task.missing
        column = task.choice.attribute(fact.value)
        for value in values(task, column):
            move = reply(task, f"Is it {value}?", partition="facts").move
            assert move == ("yes" if value == fact.value else "no")
        spare = next(
            i
            for i in range(len(task.choice.attributes))
            if i not in {task.choice.attribute(fact.value) for fact in task.facts if fact.value}
        )
        assert reply(task, f"Is it {own_value(task, spare)}?", partition="facts").move == "cannot_tell"
        names = [task.choice.name(option) for option in task.choice.options]
        assert reply(task, f"Is it {names[0]} or {names[1]}?", partition="facts").move == "cannot_tell"
        assert reply(task, f"Is it {task.answer}?", partition="facts").move == "noted"
        assert fact.text in reply(task, fact.ask, partition="facts").text


@pytest.mark.parametrize(
    ("partition", "move"), [("symmetric", "cannot_tell"), ("verifier", "checks"), ("solo", "go_on")]
)
def test_who_knows_what_is_public_decides_that_alone(partition, move):
    for task in ONE:
        assert reply(task, f"Is it {task.missing[0].value}?", partition=partition).move == move
        public = next((fact for fact in task.facts if fact.public and fact.value), None)
        if public and partition != "solo":
            assert reply(task, f"Is it {public.value}?", partition=partition).move == "yes"


@pytest.mark.parametrize("partition", ["verifier", "answer", "key"])
def test_an_option_that_is_tried_gets_its_verdict(partition):
    for task in TASKS:
        assert reply(task, f"Is it {task.answer}?", partition=partition).move == "right"
        assert reply(task, f"The answer is {task.wrong_answer}.", partition=partition).move == "wrong"


def test_who_is_misled_claims_its_own_answer():
    for task in TASKS:
        claim = reply(task, f"The answer is {task.answer}.", partition="misled")
        assert claim.move == "claim" and task.wrong_answer in claim.text


def test_a_key_gives_one_step_after_the_other_and_never_the_answer():
    for task in HARD:
        lines = ["How does one begin?"]
        for step in known(task, Condition(partition="key"), "partner").hints:
            hint = reply(task, *lines, partition="key")
            assert hint.move == "hint" and step in hint.text
            lines += [hint.text, "And how does it go on?"]
        assert reply(task, *lines, partition="key").move == "yes_no"
        assert reply(task, f"Is it {own_value(task, 0)}?", partition="key").move == "yes"


def test_what_a_chatterer_is_to_keep_no_closed_question_brings_out():
    for task in ONE:
        lines = ["Hello."]
        for _ in task.missing:
            lines += [
                reply(task, *lines, partition="facts", disclosure="chatter").text,
                f"Is it {task.missing[0].value}?",
            ]
        for partition in ("facts", "key"):
            assert reply(task, *lines, partition=partition, disclosure="chatter").move == "cannot_tell"
        told = ["Hello.", task.missing[0].text, f"Is it {task.missing[0].value}?"]
        assert reply(task, *told, partition="facts", disclosure="volunteer").move == "yes"


def test_under_jigsaw_the_partner_tells_its_share_and_confirms_it():
    for task in TASKS:
        shares = {party: known(task, Condition(partition="jigsaw"), party).facts for party in ("student", "partner")}
        [lacks] = [fact for fact in shares["partner"] if fact.needed]
        assert lacks.text in reply(task, lacks.ask, partition="jigsaw").text
        assert reply(task, f"Is it {lacks.value}?", partition="jigsaw").move == "yes"

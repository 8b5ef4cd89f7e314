"""A kind of knowledge that no partition has yet is one `Item` and one row: all that asks of a row asks it too."""

import random

import pytest

from evals.audit.other_worlds import view_changed
from pipeline.core.schema import Fact, Turn
from pipeline.datasets.card import knows
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.judging.violations import audited, violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.knowledge.partition import PARTITIONS, PUBLIC, Item, Partition
from pipeline.knowledge.records import Dialogue
from pipeline.knowledge.view import view

ONE_FACT = Item("one of the facts that the question lacks", facts=lambda task: task.missing[:1])
HINT = Item(
    "how many steps a solution has",
    facts=lambda task: (Fact(id="hint", text=f"A solution has {len(task.steps)} steps.", public=False),),
    fields=("steps",),
)


@pytest.fixture(params=[ONE_FACT, HINT], ids=["one_fact", "hint"])
def condition(request, monkeypatch):
    monkeypatch.setitem(PARTITIONS, "new", Partition(frozenset({PUBLIC}), frozenset({PUBLIC, request.param})))
    return Condition(partition="new", disclosure="volunteer")


def said(task, condition, *texts):
    turns = [Turn(party=("student", "partner")[i % 2], text=text) for i, text in enumerate(texts)]
    return Dialogue(
        id="d", task=task, condition_name="new", condition=condition, seed=1, turns=tuple(turns), stop="turn_cap"
    )


def test_it_is_shown_volunteered_and_named(condition, underspecified):
    for task in underspecified:
        [fact] = known(task, condition, "partner").private
        assert f"Only you know: {fact.text}" in view(task, condition, [], "partner")[0]["content"]
        assert fact.text not in view(task, condition, [], "student")[0]["content"]
        told = rule_reply(
            known(task, condition, "partner"), condition, [Turn(party="student", text="Hm.")], None, random.Random(1)
        )
        assert fact.text in told.text
    [item] = condition.row.partner - {PUBLIC}
    assert item.says in knows(condition.row.partner)


def test_who_holds_all_missing_facts_but_one_is_checked_too(monkeypatch, underspecified):
    rest = Item("all that the question lacks but one fact", facts=lambda task: task.missing[1:])
    monkeypatch.setitem(PARTITIONS, "new", Partition(frozenset({PUBLIC}), frozenset({PUBLIC, rest})))
    condition = Condition(partition="new", disclosure="volunteer")

    def leaks(task, condition, turns, party):
        return [*view(task, condition, turns, party), {"role": "user", "content": task.answer}]

    for task in underspecified[:5]:
        dialogue = said(task, condition, "Hm.")
        assert view_changed(leaks, condition, dialogue, "partner").hit
        assert not view_changed(view, condition, dialogue, "partner").hit


def test_every_check_of_a_partner_asks_it(condition, underspecified):
    assert {"revealed_answer", "unknown_fact", "disclosure"} <= set(audited(condition))
    task = next(task for task in underspecified if len(task.missing) == 2)
    [own], other = known(task, condition, "partner").private, task.missing[1]
    assert not violations(said(task, condition, "Hm.", own.text))
    assert [each.kind for each in violations(said(task, condition, "Hm.", "I see."))] == ["disclosure"]
    assert "unknown_fact" in [
        each.kind for each in violations(said(task, condition, "Hm.", f"{own.text} {other.text}"))
    ]


def test_other_worlds_keep_it_and_find_a_view_that_shows_more(condition, underspecified, full):
    def shows_all(task, condition, turns, party):
        return [*view(task, condition, turns, party), {"role": "user", "content": str([f.text for f in task.facts])}]

    for task in [*underspecified[:5], *full[:5]]:
        dialogue = said(task, condition, "Hm.")
        for party in ("student", "partner"):
            assert not view_changed(view, condition, dialogue, party).hit
        assert view_changed(shows_all, condition, dialogue, "partner").hit

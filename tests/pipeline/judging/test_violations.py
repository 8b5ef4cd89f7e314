"""The partner audit: rule partners keep their rows, and each kind of violation is found where it is made."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.schema import Fact, Task, Turn
from pipeline.dialogue.episode import Cast, Episode
from pipeline.dialogue.turn_taking import play
from pipeline.experiment.settings import DialogueSettings
from pipeline.judging.violations import KINDS, audited, violations
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.partition import PARTITIONS
from pipeline.knowledge.records import Dialogue
from pipeline.tasks import mathdial
from pipeline.tasks.settings import Tasks
from pipeline.tasks.word_problems import make_task
from tests.fakes import Parrot

HOLDS_FACTS = [name for name, row in PARTITIONS.items() if row.holds_facts]
CONDITIONS = [
    *(Condition(partition=name) for name in PARTITIONS if name != "script"),
    *(Condition(partition=name, reveal=True) for name in ("answer", "key", "mindreader")),
    *(
        Condition(partition=name, disclosure=disclosure)
        for name, disclosure in itertools.product(HOLDS_FACTS, ("volunteer", "chatter"))
        if name != "script" and not (disclosure == "chatter" and PARTITIONS[name].deals_shares)
    ),
    *(
        Condition(partition=name, manner=manner)
        for name, manner in itertools.product(("facts", "key", "mindreader"), ("vague", "low_effort"))
    ),
]


def lines_of(task: Task) -> list[str]:
    """What a student may say: ask for each fact, guess, restate, be right, or none of it."""
    said = [f"The answer is {answer}." for answer in (task.answer, task.wrong_answer or "3", "7", "1000")]
    said += ["Is it 12?", "Hello.", "What do you mean?", "I cannot tell.", "I agree.", "So how many are there?"]
    return said + [text for fact in task.facts for text in (fact.ask, fact.text, f"{fact.text} {fact.ask}")]


def played(task: Task, condition: Condition, lines: list[str], key: str = "k", wording: str = "train") -> Dialogue:
    cast, settings = Cast(Parrot(*lines)), DialogueSettings(turns=5)
    episode = Episode(task=task, condition=condition, cast=cast, settings=settings, key=key, wording=wording)
    return dialogue(task, condition, [turn.text for turn in asyncio.run(play(episode)).turns])


def dialogue(task: Task, condition: Condition, lines: list[str]) -> Dialogue:
    turns = tuple(Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines))
    condition = condition
    return Dialogue(id="d", task=task, condition_name="c", condition=condition, seed=1, turns=turns, stop="turn_cap")


@given(
    st.integers(0, 10_000),
    st.sampled_from(["full", "underspecified"]),
    st.sampled_from(CONDITIONS),
    st.sampled_from(["train", "exam"]),
    st.data(),
)
@settings(max_examples=250, deadline=None)
def test_a_rule_partner_never_breaks_its_row(seed, specification, condition, wording, data):
    task = make_task(seed, specification)
    lines = data.draw(st.lists(st.sampled_from(lines_of(task)), min_size=5, max_size=5))
    assert violations(played(task, condition, lines, str(seed), wording)) == []


@given(st.integers(0, 10_000), st.sampled_from(["facts", "key"]))
@settings(deadline=None)
def test_an_erring_partner_breaks_its_row_by_false_facts_and_by_nothing_else(seed, partition):
    task = make_task(seed, "underspecified")
    made = played(task, Condition(partition=partition, manner="erring"), [task.missing[0].ask], str(seed))
    wrong = [i for i in range(1, len(made.turns), 2) if task.missing[0].text not in made.turns[i].text]
    assert [(b.turn, b.kind) for b in violations(made)] == [(i, "false_fact") for i in wrong]


def test_an_erring_partner_does_err():
    task = make_task(1, "underspecified")
    made = [
        played(task, Condition(partition="facts", manner="erring"), [task.missing[0].ask], str(i)) for i in range(40)
    ]
    rate = sum(len(violations(one)) for one in made) / sum(len(one.turns) // 2 for one in made)
    assert 0.2 < rate < 0.4


TASK = Task(
    id="t",
    source="embedded",
    specification="underspecified",
    question="Tom has some pens. Eva finds some pens. Ana has 12 pens. In all?",
    full_question="Tom has 30 pens. Eva finds 8 pens. Ana has 12 pens. In all?",
    answer="50",
    wrong_answer="48",
    solution="30 + 8 = 38. 38 + 12 = 50.",
    facts=(
        Fact(id="a", text="Tom has 30 pens.", public=False, ask="How many pens does Tom have?"),
        Fact(id="c", text="Eva finds 8 pens.", public=False, ask="How many pens does Eva find?"),
        Fact(id="b", text="Ana has 12 pens.", ask="How many pens does Ana have?"),
    ),
)
ASK, GUESS = "How many pens does Tom have?", "I guess the answer is 9."
VIOLATING = [
    # partition, other axes, what was said, where it breaks
    ("verifier", {}, [GUESS, "That is right."], "false_feedback"),
    ("verifier", {}, ["The answer is 50.", "No, that is wrong."], "false_feedback"),
    ("key", {}, [GUESS, "I agree."], "false_feedback"),
    ("answer", {}, ["The answer is 50.", "That is too low."], "false_feedback"),
    ("answer", {}, ["The answer is 50.", "Too high!"], "false_feedback"),
    ("misled", {}, ["The answer is 50.", "That is right."], "false_feedback"),
    ("misled", {}, ["The answer is 48.", "That is wrong."], "false_feedback"),
    ("symmetric", {}, [GUESS, "Yes, that is correct."], "false_feedback"),
    ("verifier", {}, [GUESS, "That's correct, Tom! Now go on."], "false_feedback"),
    ("key", {}, [GUESS, "No. The answer is 50."], "revealed_answer"),
    ("facts", {}, [ASK, "The answer is 50."], "revealed_answer"),
    ("symmetric", {}, [ASK, "Tom has 30 pens."], "unknown_fact"),
    ("answer", {}, [ASK, "Tom has 30 pens."], "unknown_fact"),
    ("symmetric", {}, [ASK, "The answer is 50."], "unknown_fact"),
    ("facts", {}, [ASK, "Tom has 31 pens."], "false_fact"),
    ("symmetric", {}, ["Hello.", "I know this: Ana has 21 pens."], "false_fact"),
    ("facts", {}, ["Hello.", "Tom has 30 pens."], "disclosure"),
    ("facts", {}, [ASK, "Eva finds 8 pens."], "disclosure"),
    ("facts", {"disclosure": "volunteer"}, ["Hello.", "Go on."], "disclosure"),
    ("facts", {"disclosure": "chatter"}, [ASK, "Tom has 30 pens."], "disclosure"),
    ("symmetric", {}, ["Hello.", "Let me see.\nStudent: I am done."], "off_role"),
    ("facts", {}, ["Hello.", "As an AI language model I cannot say."], "off_role"),
    ("facts", {}, ["Hello.", "Only you know: something."], "off_role"),
    ("symmetric", {}, ["Hello.", "..."], "off_role"),
]
SOUND = [
    ("misled", {}, ["The answer is 50.", "No, that is wrong."]),
    ("misled", {}, ["The answer is 48.", "That is right."]),
    ("symmetric", {}, [GUESS, "I agree. The answer is 9."]),
    ("verifier", {}, [GUESS, "Is that right?"]),
    ("key", {}, [GUESS, "You are correct that Tom has pens. I agree, but go on."]),
    ("key", {}, [GUESS, "That's correct, we have to add the pens of Tom, Eva and Ana first."]),
    ("answer", {}, ["The answer is 60.", "That is too high."]),
    ("key", {}, ["The answer is 50.", "Yes, that is right. The answer is 50."]),
    ("key", {"reveal": True}, [GUESS, "No. The answer is 50."]),
    ("symmetric", {}, ["Tom has 30 pens.", "I see. Tom has 30 pens."]),
    ("facts", {}, [ASK, "Tom has 30 pens.", "Okay.", "Once more: Tom has 30 pens."]),
    ("facts", {}, ["What do you know?", "Tom has 30 pens."]),
    ("facts", {"disclosure": "volunteer"}, ["Hello.", "Tom has 30 pens.", "Hm.", "Eva finds 8 pens.", "Hm.", "Go on."]),
    ("key", {"disclosure": "volunteer"}, [GUESS, "That is not right."]),
    ("verifier", {}, ["Tom has 30 pens. The answer is 50.", "That is right. Eva finds 8 pens."]),
    ("symmetric", {}, ["Hello.", "So Ana has 20 pens."]),
    ("solo", {}, ["Hello.", "Tom has 30 pens."]),
]


@pytest.mark.parametrize(("partition", "condition", "lines", "kind"), VIOLATING)
def test_each_kind_is_found_where_it_is_made(partition, condition, lines, kind):
    condition = Condition(partition=partition, **condition)
    found = violations(dialogue(TASK, condition, lines))
    assert [(violation.turn, violation.kind) for violation in found] == [(1, kind)]
    assert kind in audited(condition)


@pytest.mark.parametrize(("partition", "condition", "lines"), SOUND)
def test_what_a_row_allows_is_no_violation(partition, condition, lines):
    assert violations(dialogue(TASK, Condition(partition=partition, **condition), lines)) == []


def test_with_one_missing_fact_the_answer_is_the_fact():
    facts = tuple(fact.model_copy(update={"public": fact.id != "a"}) for fact in TASK.facts)
    task = TASK.model_copy(update={"facts": facts})
    for partition, kinds in (("answer", []), ("symmetric", ["unknown_fact"])):
        found = violations(dialogue(task, Condition(partition=partition), [ASK, "Tom has 30 pens."]))
        assert [violation.kind for violation in found] == kinds


@given(st.integers(0, 10_000), st.sampled_from(CONDITIONS), st.lists(st.text(max_size=60), max_size=5))
@settings(deadline=None)
def test_only_kinds_that_a_condition_can_show_are_found_whatever_is_said(seed, condition, lines):
    task = make_task(seed, "underspecified")
    assert {violation.kind for violation in violations(dialogue(task, condition, lines))} <= set(audited(condition))
    assert set(audited(condition)) <= set(KINDS)


def test_of_reveals_that_teachers_admit_the_rule_finds_what_the_docs_say():
    """docs/partner_audit.md. Gold: the teacher's own word after the talk."""
    if not os.environ.get("MAIEUTIC_DATA"):
        pytest.skip("MAIEUTIC_DATA is not set: the audit is not measured on people's dialogues")
    path = Path(os.environ["MAIEUTIC_DATA"]) / "mathdial" / "dialogues.jsonl"
    condition = Condition(partition="key", voice="human")
    talks, _ = mathdial.read_dialogues(Tasks(source="mathdial", path=str(path)), "human", condition, 1)
    found = {
        word: [
            any(b.kind == "revealed_answer" for b in violations(d)) for d in talks if d.meta["self_correctness"] == word
        ]
        for word in ("Yes, but I had to reveal the answer", "Yes")
    }
    admitted, kept = found.values()
    assert sum(admitted) / len(admitted) >= 0.6
    assert sum(kept) / len(kept) <= 0.05

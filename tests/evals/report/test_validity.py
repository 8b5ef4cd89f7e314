"""evals.report.validity: the figures of the labeller behind each metric."""

from __future__ import annotations

import json

import pytest

from evals.exams.registry import catalog
from evals.metrics.metric import Metric
from evals.readers.labels.label_classes import CLASSES
from evals.readers.labels.label_settings import LabelSettings
from evals.report import validity
from evals.report.counts import OF_DIALOGUES
from evals.report.validity import SHIPPED
from pipeline.reading.acts import ACTS
from pipeline.reading.labelling.judge import prompt_hash
from pipeline.reading.settings import ActsSettings
from tests.evals.small_exam import shipped_exams

EXAMS = shipped_exams()
METRICS = catalog(EXAMS.values())
READ = sorted({m.name: m for m in (*METRICS.metrics, *OF_DIALOGUES) if m.reader is not None}.items())


def declared(name: str) -> Metric:
    metric = METRICS.metric(name) or next(metric for metric in OF_DIALOGUES if metric.name == name)
    assert metric is not None
    return metric


def labelled_by(name: str, *settings: ActsSettings) -> list[validity.LabellerFigure]:
    return validity.labelled_by(declared(name), *settings)


def beside(name: str, runs: list[ActsSettings]) -> dict[str, str] | None:
    return validity.beside(declared(name), runs)


def test_every_metric_rests_on_classes_that_are_measured_or_on_none():
    unread = {metric.name for metric in (*METRICS.metrics, *OF_DIALOGUES) if metric.reader is None}
    assert unread == {"student_turns", "unanswered", "unlabelled", "unread"}
    classes = {name for _, metric in READ for name in metric.reader.classes}
    assert classes <= {*CLASSES, "leak", "leak_people"}
    assert all(declared(act).reader.configured for act in ACTS)


@pytest.mark.parametrize("metric", [metric for _, metric in READ], ids=lambda metric: metric.name)
def test_beside_a_metric_that_a_label_makes_stands_a_figure_or_not_measured(metric):
    found = validity.beside(metric, [ActsSettings()])
    assert found["short"] and found["full"]
    assert "n " in found["full"] or "not measured" in found["full"]


def test_what_ships_is_on_test_parts_of_known_corpora_and_has_no_text():
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    corpora = {*LabelSettings().corpora, "stepverify", "mrbench"}
    assert set(shipped) == {"about", "classes", "baselines", "judge", "figures"}
    for row in shipped["figures"]:
        assert row["corpus"].split(",")[0] in corpora
        assert row["labeller"] in ("rules", "classifier", "judge", "baseline")
        assert row["measured"] == (row["n"] >= 50 or row["corpus"].startswith("mrbench"))
        for key in ("precision", "recall", "f1", "kappa", "precision_silent_no", "f1_silent_no"):
            assert row[key] is None or row[key][1] <= row[key][0] <= row[key][2]


def test_a_rate_has_the_figures_of_the_class_that_makes_it_in_every_scope():
    asked = labelled_by("ask_needed@facts")
    assert asked == labelled_by("ask_needed") and {one.name for one in asked} == {"question", "attempt"}
    assert {"mrda", "cima"} <= {one.corpus for one in asked} and {one.labeller for one in asked} == {"rules"}
    assert {one.name for one in labelled_by("acknowledge/2")} == {"acknowledge", "take_up"}


def test_what_no_corpus_labels_is_said_to_be_not_measured():
    assert labelled_by("unanswered") == [] and beside("unanswered", [ActsSettings()]) is None
    assert labelled_by("refuse") == [] and "no corpus" in beside("refuse", [ActsSettings()])["full"]
    assert "no corpus labels facts" in beside("clarify", [ActsSettings()])["full"]
    assert "which fact: not measured" in beside("ask_needed", [ActsSettings()])["short"]
    assert "restate: not measured" in beside("restate", [ActsSettings()])["full"]


def test_a_classifier_has_the_figures_of_its_folder_and_asking_stays_by_rule(tmp_path):
    own = ActsSettings(labeller="classifier", path=str(tmp_path))
    assert labelled_by("acknowledge", own) == [] and labelled_by("ask_needed", own) == labelled_by("ask_needed")
    row = {"labeller": "classifier", "class": "agree", "corpus": "swda", "n": 60, "measured": True}
    rates = {"precision": [0.5, 0.4, 0.6], "recall": [0.6, 0.5, 0.7], "f1": [0.55, 0.5, 0.6], "kappa": None}
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "figures.json").write_text(json.dumps({"figures": [row | rates]}))
    [figure] = labelled_by("agree", ActsSettings(labeller="classifier", path=str(folder)))
    assert (figure.corpus, figure.n, figure.precision[0]) == ("swda", 60, 0.5)


def test_recall_of_attempts_and_of_leaks_stands_beside_what_is_made_of_them():
    for name in ("accuracy_full@facts", "first_accuracy_hard", "harmful_flip", "gain", "premature", "lucky"):
        recalls = {one.corpus: one.recall[0] for one in labelled_by(name) if one.name == "attempt"}
        assert recalls["mathdial, dialogues solved"] < 0.1
        assert "planted" in beside(name, [ActsSettings()])["full"]
    generated, people = labelled_by("leak_stated")
    assert (generated.name, people.name) == ("leak", "leak_people")
    assert generated.recall[0] < 0.5 < people.recall[0] and generated.trivial == people.trivial


def test_beside_clarify_stands_its_class_and_that_it_is_worse_than_always_yes():
    [mrda] = [one for one in labelled_by("clarify") if one.name == "request"]
    assert mrda.f1[0] < mrda.trivial[0]
    short = beside("clarify", [ActsSettings()])["short"]
    assert short.startswith("request: mrda .38/.05/.09 (.31)")


def test_a_judge_has_figures_of_its_own_model_and_prompt_and_none_without_path(tmp_path, monkeypatch):
    row = {"labeller": "judge", "class": "agree", "corpus": "swda", "n": 60, "measured": True}
    rates = {key: [0.5, 0.4, 0.6] for key in ("precision", "recall", "f1", "kappa")}
    for folder, model, prompt in (("own", "X", prompt_hash()), ("other", "Y", prompt_hash()), ("old", "X", "0")):
        (tmp_path / folder).mkdir()
        whole = {"judge": {"model": model, "prompt": prompt}, "figures": [row | rates]}
        (tmp_path / folder / "figures.json").write_text(json.dumps(whole))
    monkeypatch.chdir(tmp_path / "own")  # where a figures.json lies that nobody named
    named = [ActsSettings(labeller="judge", model="X", path=path) for path in ("../own", "../other", "../old", "")]
    assert [len(labelled_by("agree", one)) for one in named] == [1, 0, 0, 0]
    assert "agree: not measured" in beside("agree", named[3:])["full"]


def test_what_a_classifier_leaves_to_the_rules_has_the_figures_of_the_rules(tmp_path):
    own = ActsSettings(labeller="classifier", path=str(tmp_path))
    assert labelled_by("attempt", own) == labelled_by("attempt") != []
    assert {one.labeller for one in labelled_by("holds_own", own)} == {"rules"}

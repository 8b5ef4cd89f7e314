"""evals.report: validity, against_people, label_marks: who labels the turns behind each metric, and how well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.exams.registry import catalog, find_exam
from evals.metrics.metric import Metric
from evals.readers.labels.label_classes import CLASSES
from evals.readers.labels.label_settings import LabelSettings
from evals.readers.turns.score_readings import PARTNER, STUDENT
from evals.report import against_people, validity
from evals.report.against_people import LEAKS, SHIPPED
from evals.report.counting.counts import OF_DIALOGUES
from evals.report.page.label_marks import Mark, mark_of
from evals.report.validity import REFUSED, is_measured, planted
from pipeline.core.errors import ConfigError
from pipeline.experiment.experiment import Experiment
from pipeline.experiment.preflight import preflight
from pipeline.reading import reader_figures
from pipeline.reading.acts import ACTS
from pipeline.reading.labelling.judge import prompt_hash
from pipeline.reading.settings import MEASURED
from tests.builders import small_experiment
from tests.evals.small_exam import shipped_exams

EXAMS = shipped_exams()
METRICS = catalog(EXAMS.values())
READ = sorted({m.name: m for m in (*METRICS.metrics, *OF_DIALOGUES) if m.reader is not None}.items())
PLANTED = small_experiment()
FIGURE = {"precision": 0.8, "recall": 0.7, "f1": 0.75, "low": 0.7, "high": 0.8, "n": 50}
OWN = "my.py:READER"


def declared(name: str) -> Metric:
    metric = METRICS.metric(name) or next(metric for metric in OF_DIALOGUES if metric.name == name)
    assert metric is not None
    return metric


def labelled_by(name: str, run: Experiment = PLANTED) -> list[against_people.LabellerFigure]:
    return against_people.labelled_by(declared(name), run)


def figures(name: str, *runs: Experiment) -> str:
    return "; ".join(validity.figures_in_full(declared(name), runs or (PLANTED,)))


def mark(name: str, *runs: Experiment) -> Mark | None:
    return mark_of(declared(name), runs or (PLANTED,))


def acts(judge: str = "", **settings: str) -> Experiment:
    return small_experiment(acts=settings, judge={"model": judge})


def read_by(reader: str, file: Path | None = None, **classes: dict) -> Experiment:
    """A run whose metrics rest on `reader`, of which `file` comes to have these figures."""
    if file is not None:
        file.write_text(json.dumps({reader: classes}))
    return small_experiment(reading={"metrics": reader, "figures": str(file or "")})


def test_every_metric_rests_on_classes_that_are_measured_or_says_that_it_is_not():
    unread = {metric.name for metric in (*METRICS.metrics, *OF_DIALOGUES) if metric.reader is None}
    counted = {"student_turns", "turns_used", "questions_read", "plans_made", "plans_passed", "lost_worded"}
    counted |= {metric.name for metric in find_exam("gold_logprob").metrics}  # nats, of no label
    assert unread == counted | {"unanswered", "unlabelled", "silent", "cut", "unread"}
    assert {name for _, metric in READ for name in metric.reader.people} <= {*CLASSES, *LEAKS}
    assert {name for _, metric in READ for name in metric.reader.classes} <= {*STUDENT, *PARTNER}
    assert all(any(metric.reader) for _, metric in READ)


def test_acts_of_people_are_the_labellers_and_of_tasks_the_instruments_but_two():
    people = {act: METRICS.metric(f"{act}@people").reader for act in ACTS}
    assert not any(reader.classes for reader in people.values())
    assert [act for act, reader in people.items() if not reader.people] == ["refuse"]  # which no corpus labels
    assert [act for act in ACTS if not declared(act).reader.classes] == ["acknowledge", "repair"]


@pytest.mark.parametrize("metric", [metric for _, metric in READ], ids=lambda metric: metric.name)
def test_beside_a_metric_that_a_label_makes_stands_a_figure_or_not_measured(metric):
    found = mark_of(metric, [PLANTED])
    assert found.figures and all("n " in line or "not measured" in line or "exact" in line for line in found.figures)
    assert found.standing in ("good", "rough") or any("not measured" in line for line in found.figures)


def test_planted_wordings_are_exact_and_natural_ones_have_their_readers_figures(tmp_path):
    assert mark("ask_needed")[:2] == ("good", None) and mark("ask_needed").figures[0].startswith("closed: exact")
    assert "asks_withheld by closed on natural turns, n 171" in figures("ask_needed")
    run = read_by(OWN, tmp_path / "f.json", asks_withheld=FIGURE, generic_request=FIGURE, attempt=FIGURE)
    assert mark("ask_needed", run)[:2] == ("rough", 0.75)
    better = dict.fromkeys(("asks_withheld", "generic_request", "attempt"), FIGURE | {"f1": 0.8})
    assert mark("ask_needed", read_by(OWN, tmp_path / "g.json", **better))[:2] == ("good", 0.8)
    full = f"attempt by {OWN} on natural turns, n 50: precision 0.80, recall 0.70, F1 0.75 (0.70 to 0.80)"
    assert full in figures("ask_needed", run)
    assert is_measured(declared("ask_skill"), run) and is_measured(declared("ask_skill@facts"), PLANTED)


def test_a_reader_without_figures_of_a_class_makes_no_headline(tmp_path):
    missing = read_by(OWN, tmp_path / "f.json", asks_withheld=FIGURE, attempt=FIGURE)
    never = FIGURE | {"f1": None, "n": 0}
    empty = read_by(OWN, tmp_path / "g.json", asks_withheld=FIGURE, attempt=FIGURE, generic_request=never)
    for run in (read_by(OWN), missing, empty):
        assert not is_measured(declared("ask_skill"), run)
        assert REFUSED in figures("ask_skill", run) and mark("ask_skill", run)[:2] == ("unmeasured", None)
        assert is_measured(declared("student_turns"), run) and is_measured(declared("acknowledge"), run)
    assert is_measured(declared("gain"), missing) and not is_measured(declared("gain"), read_by(OWN))


def test_a_judge_has_no_figures_that_ship_since_they_are_of_its_model(tmp_path, monkeypatch):
    shipped = tmp_path / "figures.json"
    shipped.write_text(json.dumps({name: {"attempt": FIGURE} for name in ("closed", "judge", "semantic")}))
    monkeypatch.setattr(reader_figures, "SHIPPED", shipped)
    assert set(reader_figures.figures_of("semantic")) == {"attempt"} and reader_figures.figures_of("judge") == {}
    assert reader_figures.figures_of("judge", str(shipped)).keys() == {"attempt"}


def test_the_figures_that_ship_are_of_readers_that_ship_and_of_every_class():
    shipped = reader_figures.read_figures(reader_figures.SHIPPED)
    assert "closed" in shipped and set(shipped) <= {*MEASURED, "judge"}
    for classes in shipped.values():
        assert set(classes) == {*STUDENT, *PARTNER}
        assert all(row.n == 0 or row.low <= row.f1 <= row.high for row in classes.values())


@pytest.mark.parametrize(("text", "message"), [
    (None, "reading.figures: .*absent.json: holds no figures"),
    ("[]", "reading.figures: .* holds no figures of readers"),
    ('{"closed": {"attempt": {"f1": 1}}}', "reading.figures: .* holds no figures of readers"),
    ('{"other": {}}', "has figures of other, and neither of 'closed'"),
])  # fmt: skip
def test_a_file_of_figures_that_is_none_is_refused_before_anything_runs(tmp_path, text, message):
    file = tmp_path / ("absent.json" if text is None else "figures.json")
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        preflight(small_experiment(reading={"figures": str(file)}))


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


def test_an_act_has_the_figures_of_its_classes_at_every_position():
    assert {one.name for one in labelled_by("acknowledge/2")} == {"acknowledge", "take_up"}
    assert labelled_by("acknowledge/2") == labelled_by("acknowledge")
    asked = labelled_by("question@people")
    assert {"mrda", "cima"} <= {one.corpus for one in asked} and {one.labeller for one in asked} == {"rules"}


def test_what_no_corpus_labels_is_said_to_be_not_measured():
    assert labelled_by("unanswered") == [] and mark("unanswered") is None
    assert "repair: not measured" in figures("repair")
    assert "restate: not measured" in figures("restate@people")


def test_a_classifier_has_the_figures_of_its_folder_and_readings_stay_as_they_are(tmp_path):
    own = acts(labeller="classifier", path=str(tmp_path))
    assert labelled_by("acknowledge", own) == [] and figures("ask_needed", own) == figures("ask_needed")
    assert not is_measured(declared("acknowledge"), own)
    row = {"labeller": "classifier", "class": "agree", "corpus": "swda", "n": 60, "measured": True}
    rates = {"precision": [0.5, 0.4, 0.6], "recall": [0.6, 0.5, 0.7], "f1": [0.55, 0.5, 0.6], "kappa": None}
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "figures.json").write_text(json.dumps({"figures": [row | rates]}))
    [figure] = labelled_by("agree@people", acts(labeller="classifier", path=str(folder)))
    assert (figure.corpus, figure.n, figure.precision[0]) == ("swda", 60, 0.5)
    agrees = METRICS.metric("agree@people")  # which counts what takes up another's words as well
    assert not is_measured(agrees, acts(labeller="classifier", path=str(folder)))
    both = tmp_path / "both"
    both.mkdir()
    rows = [row | rates, row | rates | {"class": "take_up"}]
    (both / "figures.json").write_text(json.dumps({"figures": rows}))
    assert is_measured(agrees, acts(labeller="classifier", path=str(both)))
    natural = small_experiment(reading={"metrics": "semantic"})
    assert is_measured(METRICS.metric("other_question@people"), natural)
    assert not is_measured(declared("repair"), natural) and is_measured(declared("repair"), PLANTED)


def test_leaks_by_rule_have_people_beside_them_and_another_readers_have_not():
    generated, people = labelled_by("leak_stated")
    assert (generated.name, people.name) == ("leak", "leak_people")
    assert generated.recall[0] < 0.5 < people.recall[0] and generated.trivial == people.trivial
    assert labelled_by("leak_stated", read_by(OWN)) == []
    assert "leak" not in figures("leak_stated", read_by(OWN))


def test_beside_clarify_of_people_stands_that_it_is_worse_than_always_yes():
    [mrda] = [one for one in labelled_by("clarify@people") if one.name == "request"]
    assert mrda.f1[0] < mrda.trivial[0]
    assert mark("clarify@people").standing == "rough" and mark("clarify@people").lowest <= mrda.f1[0]


def test_a_judge_has_figures_of_its_own_model_and_prompt_and_none_without_path(tmp_path, monkeypatch):
    row = {"labeller": "judge", "class": "agree", "corpus": "swda", "n": 60, "measured": True}
    rates = {key: [0.5, 0.4, 0.6] for key in ("precision", "recall", "f1", "kappa")}
    for folder, model, prompt in (("own", "X", prompt_hash()), ("other", "Y", prompt_hash()), ("old", "X", "0")):
        (tmp_path / folder).mkdir()
        rows = [row | rates, row | rates | {"class": "take_up"}]
        whole = {"judge": {"model": model, "prompt": prompt}, "figures": rows}
        (tmp_path / folder / "figures.json").write_text(json.dumps(whole))
    monkeypatch.chdir(tmp_path / "own")  # where a figures.json lies that nobody named
    named = [acts(labeller="judge", judge="X", path=path) for path in ("../own", "../other", "../old", "")]
    assert [len(labelled_by("agree@people", one)) for one in named] == [2, 0, 0, 0]
    assert [is_measured(METRICS.metric("agree@people"), one) for one in named] == [True, False, False, False]
    assert "agree: not measured" in figures("agree@people", named[3])


def test_what_a_classifier_leaves_to_the_rules_has_the_figures_of_the_rules(tmp_path):
    own = acts(labeller="classifier", path=str(tmp_path))
    assert labelled_by("attempt@people", own) == labelled_by("attempt@people") != []
    repair = METRICS.metric("repair")  # its own class no corpus has; here its wordings are planted
    rates = {"precision": [0.5, 0.4, 0.6], "recall": [0.6, 0.5, 0.7], "f1": [0.55, 0.5, 0.6], "kappa": None}
    row = {"labeller": "classifier", "class": "request", "corpus": "swda", "n": 60, "measured": True}
    assert planted(own) and not is_measured(repair, own)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/figures.json").write_text(json.dumps({"figures": [row | rates]}))
    kept = acts(labeller="classifier", path=str(tmp_path / "kept"))
    assert is_measured(repair, kept) and not is_measured(METRICS.metric("acknowledge"), kept)

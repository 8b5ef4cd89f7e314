"""What an embedded base is not asked: the terminal, the contrasts and the price say the same."""

import re
from pathlib import Path

import pytest
from rich.console import Console

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import check_metrics, measured
from evals.examining.examine import unasked
from evals.examining.references import needing, references_table
from evals.exams.registry import find_exam
from evals.metrics.metric import metric_name
from evals.sitting.exam import asked, measured_by
from pipeline.core.errors import ConfigError
from pipeline.experiment.assignment import exam_tasks
from pipeline.experiment.experiment import Experiment
from tests.builders import small_experiment
from tests.evals.small_exam import shipped_exams, sums

HERE = Path("mine.yaml")


def experiment(*include: str, kind: str = "transformers", metric: str = "", **exams: object) -> Experiment:
    compare = {"compare": {"primary": {"metric": metric, "a": "facts", "b": "base"}}} if metric else {}
    return small_experiment(
        exams={"include": include, **exams},
        student={"model": "data/base"},
        engine={"kind": kind},
        tasks={"exam": {"full": 2, "underspecified": 4, "false_premise": 1}},
        **compare,
    )


def requests(folder: Path) -> dict[str, object]:
    path = folder / "requests.jsonl"
    path.write_text('{"request": "Book me a room.", "need": 3}\n{"request": "Say hello.", "need": 1}\n')
    return {"path": str(path), "needless": 1}


def test_a_contrast_on_what_the_base_is_not_asked_is_refused_with_what_to_do(tmp_path):
    loaded = {"clarification": requests(tmp_path)}
    for name, metric, more in [
        ("private", "goal@agents", {}),
        ("persuader", "fallacy_gap", {}),
        ("updating", "update_confirm@own", {}),
        ("common_ground", "ground_used@pivot", {}),
        ("clarification", "ask_due@requests", loaded),
    ]:
        with pytest.raises(ConfigError, match=rf"mine\.yaml: compare\.primary\.metric: '{metric}' needs a real model"):
            check_metrics(HERE, experiment(name, metric=metric, **more))
        check_metrics(HERE, experiment(name, kind="scripted", metric=metric, **more))
    check_metrics(HERE, experiment("updating", metric="update_disconfirm@own"))


def test_a_scope_that_no_exam_measures_is_refused_with_those_that_are():
    with pytest.raises(ConfigError, match=r"lost_final@shard, which .* Measured of it: .*lost_final@sharded"):
        check_metrics(HERE, experiment("lost", metric="lost_final@shard"))


@pytest.mark.parametrize("name", ["persuader", "register", "private", "spread", "persuasion"])
def test_an_exam_that_is_not_sat_costs_and_measures_nothing(name):
    base, real = experiment(name), experiment(name, kind="scripted")
    tasks, _ = exam_tasks(base)
    assert most_answers(base, tasks, 0) == 0 < most_answers(real, tasks, 0)
    assert measured(base) == {"unanswered", "silent", "cut"} < measured(real)


@pytest.mark.parametrize("name", ["lost", "alone", "agreement", "updating", "clarification", "tutoring"])
def test_an_exam_of_the_configs_tasks_is_sat_by_a_base_that_reads_them(name):
    ours = experiment(name)
    others = ours.model_copy(update={"tasks": ours.tasks.model_copy(update={"source": "sharded"})})
    assert asked(find_exam(name), ours) and not asked(find_exam(name), others)
    assert needing(find_exam(name), others) == ["all of it"] != needing(find_exam(name), ours)
    assert measured_by(find_exam(name), others, True) == measured_by(find_exam(name), ours, True)


def test_what_needs_a_real_model_is_named_by_scope_or_metric(tmp_path):
    base = experiment("clarification", clarification=requests(tmp_path))
    assert needing(find_exam("private"), base) == ["all of it"]
    assert needing(find_exam("common_ground"), base) == ["@floor", "@pivot", "@topic", "floor_taken@null"]
    assert needing(find_exam("clarification"), base) == ["@need1/requests", "@need3/requests", "@requests"]
    assert [name.partition("@")[0] for name in needing(find_exam("updating"), base)] == [
        *["keeps_confirmed"] * 2,
        *["keeps_confirmed_null"] * 2,
    ]
    assert not any(needing(exam, experiment("asking", kind="scripted")) for exam in shipped_exams().values())
    assert needing(find_exam("agreement"), base) == []


def test_the_terminal_says_it(tmp_path):
    console = Console(width=160, record=True)
    console.print(references_table({"common_ground": {"rows": [], "needs_real_model": ["@pivot"]}}))
    assert re.search(r"needs a real model.*common_ground\W+0\W+@pivot", console.export_text(), re.DOTALL)


def test_on_a_narrow_terminal_an_exam_is_a_line_with_its_count():
    who = "a script that heeds every check"
    rows = [{"metric": f"keeps_{i}", "who": who, "value": 0.5, "low": 0.1, "high": 0.9, "n": 40} for i in range(4)]
    console = Console(width=80, record=True)
    console.print(references_table({"updating": {"rows": rows, "needs_real_model": []}}))
    text = console.export_text()
    assert "…" not in text and text.count(who) == 1
    assert re.search(rf"updating\W+{who}\W+4\b", text)


def test_an_exam_that_none_of_the_tasks_is_for_is_named():
    chosen = experiment("lost", "agreement", "updating", "alone", "tutoring", "private", "common_ground")
    full, lacking = ({"full": 4}, {"underspecified": 4})
    for exam, without in [(full, ["lost", "tutoring", "common_ground"]), (lacking, ["agreement", "updating", "alone"])]:
        mine = chosen.model_copy(update={"tasks": chosen.tasks.model_copy(update={"exam": exam})})
        assert unasked(mine, exam_tasks(mine)[0]) == without


def test_a_composite_is_made_of_ratios_of_its_own_exam():
    for exam in shipped_exams().values():
        declared = {metric.name for metric in exam.metrics}
        assert {metric_name(part) for parts in sums(exam).values() for part in parts} <= declared

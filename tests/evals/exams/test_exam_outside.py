"""An exam in a file of your own, named by its path, is sat, priced, compared and reported as the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import check_exams, measured
from evals.examining.students import examine_all
from evals.exams.registry import catalog, find_exam
from evals.report.planning.power import plan
from evals.report.report_page import write
from evals.report.summary import summarize
from evals.report.terminal_tables import table
from pipeline.core.errors import ConfigError, MaieuticError
from pipeline.experiment.experiment import Experiment, dump
from tests.builders import small_experiment

FILE = '''
"""Does the student greet back, and does it greet whoever is silent?"""
from evals.metrics.case import tally
from evals.metrics.metric import Metric
from evals.metrics.reader import Reader
from evals.sitting.exam import Exam, options
from pipeline.core.config_reading import Section

class Options(Section):
    greeting: str = "Hello."

METRICS = (
    Metric("greets", "says something when greeted / greetings", reader=Reader(unmeasured="greetings: not measured")),
    Metric("words", "words of what it says / greetings", unit="words"),
    Metric("greets_net", "greets@greeted - greets@silent", parts={"greets@greeted": 1, "greets@silent": -1}),
)

async def sit(sitting):
    wanted = options(sitting.experiment, Options).greeting
    hits = []
    for scope, text in (("greeted", wanted), ("silent", "...")):
        for i, said in enumerate(await sitting.sample(sitting.said_to(text), 4, scope)):
            hits.append((f"greeting-{i}", f"greets@{scope}", float(bool(said.text))))
            hits.append((f"greeting-{i}", f"words@{scope}", float(len(said.text.split()))))
    return tally("greeting", hits)

def ratios(experiment, understands):
    return {f"{metric}@{scope}" for metric in ("greets", "words") for scope in ("greeted", "silent")}

EXAM = Exam(
    name="greeting", metrics=METRICS, sit=sit, answers=lambda experiment, tasks: 8, ratios=ratios, options=Options
)
'''


def made(folder: Path, metric: str = "greets_net", **exams: object) -> Experiment:
    (folder / "my.py").write_text(FILE, encoding="utf-8")
    contrast = {"metric": metric, "a": "facts", "b": "base"}
    return small_experiment(
        exams={"include": ["asking", f"{folder}/my.py:EXAM"], "samples": 2, "episodes": 1, **exams},
        out=str(folder / "run"),
        seeds=[1],
        tasks={"exam": {"full": 2, "underspecified": 2}},
        compare={"primary": contrast},
    )


def test_an_exam_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    experiment = made(tmp_path)
    (tmp_path / "my.py").write_text(FILE.replace("    hits = []", "    hits = [][1]"), encoding="utf-8")
    with pytest.raises(MaieuticError, match=r"^exams\.include: '.*my.py:EXAM' failed in line \d+: IndexError"):
        examine_all(experiment)


def test_it_is_in_the_results_and_everywhere_in_the_report(tmp_path: Path) -> None:
    experiment = made(tmp_path, greeting="Good day.")
    check_exams(tmp_path / "mine.yaml", experiment)
    examine_all(experiment)
    (experiment.run / "config.yaml").write_text(dump(experiment))
    cases = [json.loads(line) for line in (experiment.run / "results/base/seed-1.jsonl").read_text().splitlines()]
    assert {case["exam"] for case in cases} >= {"asking", "greeting"}
    summary = summarize([experiment.run])
    metrics = summary.conditions["base"].metrics
    assert metrics["greets@greeted"].n == 4 and metrics["greets_net"].value == 0
    assert summary.comparisons[0].metric == "greets_net"
    _, markdown, page = (path.read_text(encoding="utf-8") for path in write(experiment.run, summary))
    for text in (markdown, page):
        assert "greets@silent" in text and "greetings: not measured" in text
        assert "words of what it says / greetings (a mean, in: words)" in text
    console = Console(width=120, record=True)
    console.print(table(summary.model_copy(update={"comparisons": ()})))
    assert "greeting" in console.export_text()


def test_it_is_priced_and_planned_with_and_its_metrics_may_be_compared(tmp_path: Path) -> None:
    experiment = made(tmp_path)
    assert {"greets@greeted", "words@silent"} <= measured(experiment)
    alone = made(tmp_path).model_copy(update={"exams": experiment.exams.model_copy(update={"include": ("asking",)})})
    assert most_answers(experiment, [], 0) == most_answers(alone, [], 0) + 8
    console = Console(width=160, record=True)
    console.print(plan(experiment))
    assert "greets_net" in console.export_text()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"metric": "greets_nett"}, "'greets_nett' is not a metric. Did you mean 'greets_net'?"),
        ({"greetings": "Hi."}, "exams.greetings: not a key here. Did you mean 'greeting'?"),
        ({"greeting": 3}, "exams.greeting: Input should be a valid string"),
    ],
)
def test_what_it_does_not_know_is_refused_as_for_any_other(tmp_path: Path, change: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_exams(Path("mine.yaml"), made(tmp_path, **change))
    assert told in str(error.value)


def test_a_file_without_such_an_exam_is_named_with_its_key(tmp_path: Path) -> None:
    experiment = made(tmp_path)
    other = experiment.exams.model_copy(update={"include": (f"{tmp_path}/my.py:EXAMS",)})
    with pytest.raises(ConfigError, match=r"mine.yaml: exams.include: .*my.py has no 'EXAMS'. Did you mean 'EXAM'?"):
        check_exams(Path("mine.yaml"), experiment.model_copy(update={"exams": other}))


METRIC = """
from evals.exams.feedback import EXAM as FEEDBACK
from evals.metrics.metric import Metric
from evals.sitting.exam import with_metrics

async def count(sitting):
    episodes = await sitting.episodes()
    return [(e.task.id, f"turns@{e.arm}", float(len(e.played.turns[::2]))) for e in episodes]

TURNS = Metric("turns", "turns of the student / episodes", unit="turns")
EXAM = with_metrics(FEEDBACK, (TURNS,), count, ("turns@facts", "turns@unhelpful"))
"""


def test_ones_own_metric_stays_whichever_run_comes_first(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text(METRIC, encoding="utf-8")
    mine, plain = find_exam(f"{tmp_path}/metric.py:EXAM"), find_exam("feedback")
    for exams in ([mine, plain], [plain, mine]):
        known = catalog(exams)
        assert known.metric("turns@facts") is not None and known.metric("gain") is not None


def test_a_metric_of_ones_own_on_an_exam_that_ships_is_counted_and_reported(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text(METRIC, encoding="utf-8")
    experiment = small_experiment(
        exams={"include": [f"{tmp_path}/metric.py:EXAM"], "samples": 2, "episodes": 1},
        out=str(tmp_path / "run"),
        seeds=[1],
        tasks={"exam": {"full": 2, "underspecified": 2}},
        compare={"primary": {"metric": "turns@facts", "a": "facts", "b": "base"}},
    )
    check_exams(tmp_path / "mine.yaml", experiment)
    examine_all(experiment)
    (experiment.run / "config.yaml").write_text(dump(experiment))
    summary = summarize([experiment.run])
    metrics = summary.conditions["base"].metrics
    assert metrics["turns@facts"].n == 4 and metrics["turns@facts"].value >= 1 and "gain" in metrics
    markdown = write(experiment.run, summary)[1].read_text(encoding="utf-8")
    assert "turns of the student / episodes (a mean, in: turns)" in markdown

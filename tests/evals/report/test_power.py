"""The planner against simulated experiments, against a run's own `detectable`, and what it says without a pilot."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from evals.exams.registry import catalog_of
from evals.metrics.case import Case
from evals.metrics.metric import ratio
from evals.report.planning.power import SEED_SD, TASK_SD, Components, PlanError, components, designs, plan, power
from evals.report.planning.price import Price, price
from evals.report.report_page import write
from evals.report.summary import summarize
from evals.stats.contrasts import contrast, detectable
from evals.stats.stored_cases import results
from pipeline.engines.settings import Engine
from pipeline.experiment.experiment import Experiment, load
from pipeline.experiment.settings import Compare
from tests.builders import small_experiment
from tests.evals.made_run import made_run

METRIC = "ask_skill"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return made_run(tmp_path_factory.mktemp("power") / "run", seeds=(1, 2, 3), exam=30)


def of(run, **compare) -> Experiment:
    experiment = load(run / "config.yaml").model_copy(update={"out": str(run)})
    return experiment.model_copy(update={"compare": experiment.compare.model_copy(update=compare)})


@pytest.fixture
def few_designs(monkeypatch):
    monkeypatch.setattr("evals.report.planning.power.SEEDS", (2, 3))


def printed(experiment: Experiment) -> str:
    console = Console(width=200)
    with console.capture() as shown:
        console.print(plan(experiment))
    return shown.get()


def significant(planted: Components, seeds: int, tasks: int, difference: float, runs: int) -> float:
    """The share of simulated experiments in which `contrast` finds it."""
    rng, found = np.random.default_rng(seeds + tasks), 0
    for _ in range(runs):
        parts = [rng.normal(scale=math.sqrt(planted.seed), size=(seeds, 1))]
        parts += [rng.normal(scale=math.sqrt(planted.task), size=(1, tasks))]
        cells = difference + sum(parts) + rng.normal(scale=math.sqrt(planted.rest), size=(seeds, tasks))
        a = {(i, f"t{j}"): (cells[i, j], 100) for i in range(seeds) for j in range(tasks)}
        b = {key: (0.0, 100) for key in a}
        # A case counts 100, so that the floor of a Wilson interval is out of the way.
        a = {key: (100 * value, n) for key, (value, n) in a.items()}
        made = {"a": {("m", False): a}, "b": {("m", False): b}}
        found += contrast(made, ratio("m"), "a", "b").p < 0.05
    return found / runs


@pytest.mark.parametrize(
    ("seed", "task", "rest", "seeds", "tasks", "difference"),
    [
        (0.0, 0.09, 0.25, 3, 40, 0.2),  # tasks differ most
        (0.01, 0.09, 0.25, 3, 40, 0.3),
        (0.04, 0.01, 0.09, 3, 60, 0.5),  # seeds differ most, and three of them hardly tell how much
        (0.01, 0.09, 0.25, 8, 40, 0.17),
        (0.0, 0.0, 0.36, 3, 60, 0.12),  # nothing but noise
        (0.01, 0.09, 0.25, 5, 40, 0.0),  # nothing to find: the share of false alarms
    ],
)
def test_predicted_power_is_the_share_of_simulated_experiments_that_find_it(seed, task, rest, seeds, tasks, difference):
    planted, runs = (
        Components(seed=seed, task=task, rest=rest, floor=0.0, share=1.0, smallest=1.0, source="planted"),
        300,
    )
    predicted = power(planted.at(seeds, tasks), difference)
    found = significant(planted, seeds, tasks, difference, runs)
    assert abs(found - predicted) < 3.5 * math.sqrt(predicted * (1 - predicted) / runs)


def test_at_its_own_tasks_and_seeds_a_pilot_gives_its_own_detectable_difference(run, tmp_path):
    """Half of the tasks ask for a fact always, which one condition learns, and its seeds differ."""
    copy = shutil.copytree(run, tmp_path / "copy")
    for seed in (1, 2, 3):
        cases = [
            Case(exam="made", task=f"t{i}", metric="ask_needed", hits=8 - seed if i % 2 else (i + seed) % 3, n=8)
            for i in range(30)
        ]
        cases += [Case(exam="made", task=f"u{i}", metric="ask_needless", hits=(i * seed) % 3, n=8) for i in range(30)]
        text = "".join(json.dumps(case._asdict()) + "\n" for case in cases)
        (copy / "results" / "facts" / f"seed-{seed}.jsonl").write_text(text)
    tables = {name: results(copy, name) for name in ("facts", "volunteer")}
    seen = contrast(tables, catalog_of([of(copy)]).signed_sum(METRIC), "facts", "volunteer")
    found, pilot = components(of(copy))
    exam = sum(of(copy).tasks.exam.values())
    assert pilot == copy and found.share == 60 / exam and found.seed > 0 and found.task > 0
    assert detectable(*found.at(seen.seeds, exam).spread()) == pytest.approx(seen.detectable)


@given(st.floats(0, 0.1), st.floats(0, 0.1), st.floats(0.01, 1), st.integers(2, 6), st.integers(5, 60))
def test_more_seeds_and_more_tasks_never_detect_less(seed, task, rest, seeds, tasks):
    planted = Components(seed=seed, task=task, rest=rest, floor=0.0, share=1.0, smallest=1.0, source="planted")
    error = [planted.at(*size).spread()[0] for size in ((seeds, tasks), (seeds + 1, tasks), (seeds, 2 * tasks))]
    assert error[0] >= error[1] and error[0] >= error[2]


def test_without_a_pilot_the_assumptions_are_printed_and_hours_are_not_invented(run, tmp_path, few_designs):
    bare = of(run, tokens_per_second=1000.0).model_copy(update={"out": str(tmp_path / "nothing")})
    found, pilot = components(bare)
    assert pilot is None and (found.seed, found.task) == (SEED_SD**2, TASK_SD**2)
    # Both conditions draw 8 times; ask_needed and ask_needless have half of the tasks each.
    assert found.rest == pytest.approx(2 * 2 * (2 * 0.25 / 8))
    shown = printed(bare)
    assert "no pilot, so assumed: sd 0.05 between seeds" in shown and "none is invented here" in shown
    assert all(math.isnan(design.hours) for design in designs(bare, found, price(bare, None)))


def test_of_what_is_no_share_nothing_is_assumed(run, tmp_path):
    bare = of(run).model_copy(update={"out": str(tmp_path / "nothing")})
    nats = {"primary": {"metric": "turn_worth_gain", "a": "facts", "b": "volunteer"}}
    exams = bare.exams.model_copy(update={"include": ("gold_logprob",)})
    planned = bare.model_copy(update={"compare": Compare.model_validate(nats), "exams": exams})
    with pytest.raises(PlanError, match="turn_worth_gain is no share"):
        components(planned)


def test_tokens_and_hours_are_those_that_the_pilot_measured_times_the_design(run, tmp_path, few_designs):
    """A made run trains 100 tokens in 2 seconds for each of 3 conditions and seeds; its base sits the exams, too."""
    copy = shutil.copytree(run, tmp_path / "copy")
    write(copy, summarize([copy]))
    cost = price(of(copy), copy)
    assert (cost.trained, cost.seconds) == (300, 6)
    there = summarize([copy]).plain()["conditions"]
    assert cost.sampled == pytest.approx(
        sum(there[name]["budgets"]["sampled_tokens"] for name in ("blind", "volunteer", "facts")) / 3
    )
    assert cost.tokens(2, 10) == pytest.approx(2 * (cost.sampled + 300 + 10 * cost.exam))
    assert cost.hours(2, 10, 50) == pytest.approx(2 * ((cost.sampled + 10 * cost.exam) / 50 + 6) / 3600)
    assert math.isnan(cost.hours(2, 10, 0)) and "compare.tokens_per_second" in printed(of(copy))
    assert "GPU-hours" in printed(of(copy, tokens_per_second=50.0))


def test_a_training_by_epochs_costs_as_many_times_more_as_it_has_tasks(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    write(copy, summarize([copy]))
    base = of(copy)
    twice = base.tasks.model_copy(update={"train": {name: 2 * count for name, count in base.tasks.train.items()}})
    once, more = price(base, copy), price(base.model_copy(update={"tasks": twice}), copy)
    assert (more.trained, more.seconds) == (2 * once.trained, 2 * once.seconds)
    fixed = base.model_copy(update={"tasks": twice, "training": base.training.model_copy(update={"steps": 5})})
    assert (price(fixed, copy).trained, price(fixed, copy).seconds) == (once.trained, once.seconds)


def test_more_exam_tasks_add_nothing_to_an_exam_with_items_of_its_own(run, few_designs):
    spread = Components(seed=0.01, task=0.04, rest=0.2, floor=0.0, share=1.0, smallest=1.0, source="", items=36)
    assert spread.at(3, 10).columns == spread.at(3, 1000).columns == 36
    made = list(designs(of(run), spread, price(of(run), None)))
    assert {design.tasks for design in made} == {sum(of(run).tasks.exam.values())}
    own = of(run).model_copy(update={"engine": Engine(kind="scripted"), "out": "runs/none"})
    exams = own.exams.model_copy(update={"include": ("private",)})
    primary = own.compare.primary.model_copy(update={"metric": "agreeable@bad"})
    compare = own.compare.model_copy(update={"primary": primary})
    found, _ = components(own.model_copy(update={"exams": exams, "compare": compare}))
    assert found.items > 0 and "items of the exam's own" in found.source
    flips = own.compare.model_copy(update={"primary": primary.model_copy(update={"metric": "harmful_flip"})})
    assert components(own.model_copy(update={"compare": flips}))[0].items == 0  # of full tasks alone, and of exam tasks


def test_what_a_pilot_had_otherwise_is_said_unless_the_plan_scales_by_it(run):
    base = of(run)
    more = base.tasks.model_copy(update={"train": {"full": 99}, "seed": 7})
    assert "otherwise" not in " ".join(price(base.model_copy(update={"tasks": more}), run).sources)
    other = base.tasks.model_copy(update={"source": "lookup"})
    assert "tasks.source" in " ".join(price(base.model_copy(update={"tasks": other}), run).sources)


def test_a_student_of_several_rounds_costs_all_of_them(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    write(copy, summarize([copy]))
    once = price(of(copy), copy)
    for adapter in (copy / "adapters").glob("*/seed-?"):
        shutil.copytree(adapter, adapter.with_name(f"{adapter.name}-round-0"))
    twice = price(of(copy), copy)
    assert (twice.sampled, twice.trained, twice.seconds) == (once.sampled, 2 * once.trained, 2 * once.seconds)


def test_what_was_not_measured_is_priced_at_its_cap(run):
    cost = price(of(run), None)
    experiment = of(run)
    turns = 8 * experiment.dialogue.turns  # four full and four underspecified tasks, rule partners
    assert cost.sampled == 3 * turns * experiment.dialogue.max_tokens
    assert math.isnan(cost.seconds) and isinstance(cost, Price)


def test_a_pilot_that_cannot_tell_is_refused_by_name(run, tmp_path):
    with pytest.raises(PlanError, match=r"compare\.pilot: .*nowhere: no exam results of 'facts' and 'volunteer'"):
        plan(of(run, pilot=str(tmp_path / "nowhere")))
    single = made_run(tmp_path / "single", seeds=(1,))
    with pytest.raises(PlanError, match="1 seeds of 'ask_skill'; two of each are needed"):
        plan(of(single))
    with pytest.raises(PlanError, match="the config names none"):
        plan(of(run).model_copy(update={"compare": None}))


def test_a_pilot_one_part_of_which_has_one_task_is_refused(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    for file in (copy / "results").glob("*/seed-?.jsonl"):
        cases = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        kept = [case for case in cases if case["metric"] != "ask_needless"]
        kept += [case for case in cases if case["metric"] == "ask_needless"][:1]
        file.write_text("".join(json.dumps(case) + "\n" for case in kept), encoding="utf-8")
    with pytest.raises(PlanError, match="two of each are needed, for each of its parts"):
        plan(of(copy))


def test_a_student_that_plays_costs_more_where_it_has_more_tasks(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    write(copy, summarize([copy]))
    report = json.loads((copy / "report.json").read_text(encoding="utf-8"))
    report["conditions"]["facts"]["counts"]["tasks"] = 0
    (copy / "report.json").write_text(json.dumps(report), encoding="utf-8")
    base = of(copy)
    twice = base.tasks.model_copy(update={"train": {name: 2 * count for name, count in base.tasks.train.items()}})
    assert price(base.model_copy(update={"tasks": twice}), copy).trained == 2 * price(base, copy).trained


def test_first_turns_are_planned_with_as_many_draws_as_they_have_in_whichever_exam(tmp_path):
    tasks = {"source": "hidden_item", "train": {"full": 4}, "exam": {"full": 4, "underspecified": 12}}
    conditions = {name: {"partition": name} for name in ("facts", "verifier")}
    exams = {"include": ["narrowing"], "samples": 8, "episodes": 1}
    rest = [
        components(
            small_experiment(
                tmp_path / "run", tasks=tasks, conditions=conditions, exams=exams,
                compare={"primary": {"metric": metric, "a": "facts", "b": "verifier"}},
            )
        )[0].rest
        for metric in ("open_question", "open_question@facts")
    ]  # fmt: skip
    assert rest == [2 * 0.25 / 8, 2 * 0.25]


@pytest.mark.parametrize(
    ("metric", "items"),
    [("ask_skill", 0), ("ask_skill@easy", 0), ("ask_needed@stress", 10), ("accuracy_under@facts", 8)],
)
def test_more_exam_tasks_are_no_more_items_of_talks_that_exams_whole_limits(tmp_path, metric, items):
    made = small_experiment(
        tmp_path / "run", conditions={name: {"partition": name} for name in ("facts", "verifier")},
        tasks={"train": {"full": 4}, "exam": {"full": 30, "underspecified": 70}},
        exams={"include": ["asking", "feedback"], "whole": 4, "stress": 5},
        compare={"primary": {"metric": metric, "a": "facts", "b": "verifier"}},
    )  # fmt: skip
    assert components(made)[0].items == items

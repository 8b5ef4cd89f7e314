"""Asking against need: rates by level, AUC, slope and net value, counted by hand."""

import asyncio
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import Console
from sklearn.metrics import roc_auc_score

from evals.examining.examine import examine
from evals.exams.clarification.asking_against_need import (
    Items,
    asking_against_need,
    auc,
    figures,
    need_tables,
    net_value,
    slope,
)
from evals.exams.clarification.clarification import (
    EXAM,
    asks_for_something,
    asks_instead,
    clarification,
    of_item,
    request,
)
from evals.metrics.case import tally
from evals.metrics.metric import signed_sum
from evals.sitting.examined_run import Run
from evals.sitting.sitting import Sitting
from evals.stats.intervals import Tables, estimate, tabulate
from evals.stats.number_format import clean, interval, number
from pipeline.core.errors import ConfigError
from pipeline.core.readings import StudentReading
from pipeline.core.schema import Choice, Fact, Task
from pipeline.engines.model import Completion
from pipeline.engines.scripted import ScriptedModel
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.parsing import RowError
from tests.builders import small_experiment
from tests.evals.small_exam import ratios, weights

VAGUE, CLEAR = "Book me a room.", "Book me a room for two in Aldon on 3 May."


def experiment(out: Path, path: str = "", engine: str = "scripted") -> Experiment:
    named = {"clarification": {"path": path, "needless": 1}} if path else {}
    return small_experiment(
        exams={"include": ["clarification"], "samples": 4} | named,
        out=out,
        engine={"kind": engine},
        tasks={"exam": {"full": 4, "underspecified": 12, "false_premise": 1}},
    )


def written(folder: Path, *rows) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "r.jsonl").write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return str(folder / "r.jsonl")


def sit(exp: Experiment, student, tasks) -> list:
    return asyncio.run(
        clarification(Sitting(experiment=exp, student=student, peer=student, seed=1, tasks=tuple(tasks)))
    )


class Seer(ScriptedModel):
    """Asks where "some" stands in the question, else answers."""

    async def complete(self, messages, sampling):
        return Completion(
            "How many are there?" if "some" in messages[0]["content"] else "The answer is 5.", tokens=4, prompt_tokens=9
        )


@pytest.mark.parametrize(("line", "rate"), [("How many are there?", 1), ("The answer is 5.", 0), ("Is it 5?", 0)])
def test_who_always_or_never_asks_does_so_at_every_need(tmp_path, line, rate):
    exp = experiment(tmp_path)
    tasks, _ = load_tasks(exp.tasks, "exam")
    cases = sit(exp, ScriptedModel((line,)), tasks)
    levels = {case.metric for case in cases if case.metric.startswith("asks@")}
    assert levels == {"asks@need0", "asks@need1", "asks@need2"} <= ratios(EXAM, exp)
    assert {case.hits / case.n for case in cases if case.metric in levels} == {rate}
    block = figures(tabulate({1: cases}), "", 0.0)
    needed = 12 / 16
    assert (block["auc"]["value"], block["slope"]["value"], block["auc"]["n"]) == (0.5, 0, 16)
    assert [row["value"] for row in block["curve"]] == [rate * row["always"] for row in block["curve"]]
    assert block["curve"][2]["always"] == pytest.approx(needed - (1 - needed))


def test_who_repeats_every_question_asks_as_often_whatever_is_needed():
    one, two = (
        Task(
            id="t", source="lookup", specification="full", question="Who has it?", full_question="Who has it?",
            answer="Ann", facts=tuple(Fact(id=name, text=f"{name}.") for name in names),
        )
        for names in (("a",), ("a", "b"))
    )  # fmt: skip
    # What an instrument stores of it: with one needed fact the question asks for that.
    again = StudentReading(repeats_question=True)
    assert not asks_for_something(one, again.model_copy(update={"asks": frozenset("a")}))
    assert not asks_for_something(two, again)
    assert asks_for_something(two, again.model_copy(update={"asks": frozenset("a")}))
    assert asks_for_something(one, StudentReading(asks=frozenset("a")))
    options = Choice(noun="jar", attributes=("colour",), options=(("red",), ("blue",)))
    chosen = one.model_copy(update={"choice": options})  # nothing is added to what is read there
    assert asks_for_something(chosen, again.model_copy(update={"asks": frozenset("a")}))


@pytest.mark.parametrize(("text", "expected"), [
    ("Which city do you mean?", True), ("Sure! Which city? And for how many nights?", True),
    ("I'd be happy to help! To find a good one I need to know a bit more. What is your budget?", True),
    ("You would like a room. For which night?", True), ("Okay. How many are there?", True),
    ("Here is the recipe: boil it. Would you like a vegan version?", False), ("Boil it. Which pan do you have?", False),
    ("Book it at the desk. Is there anything else I can help you with?", False), ("Would you like me to go on?", False),
    ("Sure, here is room 12 by the sea. Which day do you come?", False), ("Okay, it costs 40. Is that fine?", False),
    ("How about the small room, for two nights?", False), ("That sounds exciting! For how many nights?", True),
    ("I don't have enough information yet. For which night?", True), ("What a great idea! For which night?", True),
    ("Sure thing, happy to help! For which night?", True), ("Sure, I can help you with that. For which night?", True),
    ("Great, I can do that. For which night?", True),
    ("Boil it.", False), ("Is it 5?", False), ("", False)])  # fmt: skip
def test_asking_is_a_question_in_place_of_an_answer(text, expected):
    assert asks_instead(text, "I would like a room.") == expected


@pytest.mark.parametrize(("request_", "text", "expected"), [
    ("Is Pluto a planet?", "Pluto is not a planet. Why do you ask?", False),
    ("Is Pluto a planet?", "Pluto is a planet. Why do you ask?", False),
    ("Who is older, Anna or Bob?", "Bob is older than Anna. Who is Anna?", False),
    ("Tell me about a planet.", "About a planet. Which one?", True),
    ("Tell me about a planet or a star.", "A planet or a star. Which one?", True),
    ("Can you tell me about a planet?", "About a planet. Which one?", True),
    ("I have no idea what to cook.", "No idea what to cook. What do you like?", True),
    ("Can penguins fly?", "Penguins can fly. Why do you ask?", False),
    ("Hey, is Pluto a planet?", "Pluto is a planet. Why do you ask?", False),
    ("Tell me whether penguins fly.", "Penguins fly. Why do you ask?", False),
    ("Is it a planet or a star?", "A planet. Why do you ask?", False),
])  # fmt: skip
def test_an_answer_in_the_words_of_the_request_is_an_answer(request_, text, expected):
    assert asks_instead(text, request_) == expected


def test_tasks_and_requests_count_the_same_turns_as_asking(tmp_path):
    exp = experiment(tmp_path, written(tmp_path, {"request": VAGUE, "need": 3}))
    tasks, _ = load_tasks(exp.tasks, "exam")
    for line, rate in (("It is 5. Is it?", 0), ("Sure. Which one?", 1), ("Boil it.", 0)):
        levels = [case for case in sit(exp, ScriptedModel((line,)), tasks) if case.metric.startswith("asks@")]
        assert {case.metric.partition("/")[2] for case in levels} == {"", "requests"}
        assert {case.hits / case.n for case in levels} == {rate}


def test_needs_are_missing_facts_and_false_premises_are_left_out(tmp_path):
    exp = experiment(tmp_path)
    tasks, _ = load_tasks(exp.tasks, "exam")
    cases = sit(exp, ScriptedModel(), tasks)
    level = {case.task: case.metric for case in cases if case.metric.startswith("asks@")}
    kept = [task for task in tasks if task.specification != "false_premise"]
    assert level == {task.id: f"asks@need{len(task.missing)}" for task in kept}


def test_value_at_price_one_is_asking_where_it_is_due_less_where_it_is_not():
    hits = of_item("a", 2, True, [True, True]) + of_item("b", 0, False, [True, False])
    tables = tabulate({1: tally("clarification", hits)})
    value = {name: estimate(tables, signed_sum(EXAM.metrics, name)).value for name in ("ask_due", "ask_undue")}
    assert value == {"ask_due": 0.5, "ask_undue": 0.25}
    assert estimate(tables, signed_sum(EXAM.metrics, "ask_value")).value == 0.25
    assert weights(EXAM, "ask_value@requests") == {
        "asks_where_needed@requests": 1, "asks_where_needless@requests": -1}  # fmt: skip
    items = Items(np.array([2.0, 0.0]), np.array([1.0, 0.5]), np.array([True, False]))
    assert [net_value(items, price) for price in (0, 1, 2, 4)] == [0.5, 0.25, 0, -0.5]


def test_the_mix_of_tasks_is_the_configs_and_widens_no_interval():
    def hits(full: int, lacking: int) -> Tables:
        drawn = [of_item(f"f{i}", 0, False, [i % 2 == 0] * 4) for i in range(full)]
        drawn += [of_item(f"u{i}", 1, True, [i % 8 > 0] * 4) for i in range(lacking)]
        return tabulate({1: tally("clarification", [hit for item in drawn for hit in item])})

    tables = hits(40, 40)
    widths = {
        name: (rate := estimate(tables, signed_sum(EXAM.metrics, name))).high - rate.low
        for name in ("ask_due", "asks_where_needed")
    }
    assert widths["ask_due"] == pytest.approx(0.5 * widths["asks_where_needed"], rel=0.03)
    assert estimate(hits(10, 70), signed_sum(EXAM.metrics, "ask_due")).high <= 70 / 80


def test_intervals_hold_the_value_at_the_exams_mix_as_often_as_they_say():
    rng, held = np.random.default_rng(2), {"ask_due": 0, "ask_value": 0}
    for _ in range(300):
        rates = [(0, rng.beta(1, 4)) for _ in range(50)] + [(1, rng.beta(4, 1)) for _ in range(70)]
        drawn = [of_item(str(i), n, n > 0, list(rng.random(8) < p)) for i, (n, p) in enumerate(rates)]
        tables = tabulate({1: tally("clarification", [hit for item in drawn for hit in item])})
        for name, truth in (("ask_due", 0.8 * 70 / 120), ("ask_value", (0.8 * 70 - 0.2 * 50) / 120)):
            rate = estimate(tables, signed_sum(EXAM.metrics, name))
            held[name] += rate.low <= truth <= rate.high
    assert all(0.92 <= count / 300 <= 0.98 for count in held.values()), held


def test_slope_and_area_are_those_of_a_trace_that_one_can_check_by_eye():
    items = Items(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.4, 0.7]), np.array([False, True, True]))
    assert slope(items) == pytest.approx(0.3) and auc(items) == 1
    assert auc(items._replace(rate=-items.rate)) == 0
    alike = Items(np.array([1.0, 1.0]), np.array([0.1, 0.9]), np.array([True, True]))
    assert math.isnan(auc(alike)) and math.isnan(slope(alike))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=30))
def test_the_area_is_that_of_scikit_learn(rows):
    need, rate = np.array(rows, dtype=float).T
    items = Items(need, rate / 4, need > 1)
    if 0 < items.needed.sum() < len(rows):
        assert auc(items) == pytest.approx(roc_auc_score(items.needed, items.rate))
    else:
        assert math.isnan(auc(items))


def test_a_students_block_has_levels_area_and_curve_and_can_be_shown(tmp_path):
    path = written(tmp_path / "in", {"request": VAGUE, "need": 4}, {"request": CLEAR, "need": 1})
    exp = experiment(tmp_path / "run", path)
    tasks, _ = load_tasks(exp.tasks, "exam")
    asyncio.run(examine(Cell(exp, "base", 1), None, Seer(), Seer(), tasks, []))
    block = asking_against_need(Run(exp, {"base": "base", "facts": "facts"}))
    assert list(block["students"]) == ["base"] and list(block["students"]["base"]) == ["tasks", "requests"]
    mine = block["students"]["base"]["requests"]
    assert {need: rate["n"] for need, rate in mine["levels"].items()} == {"1": 4, "4": 4}
    assert mine["auc"]["value"] == 0.5  # "some" stands in neither request: it asks about none
    console = Console(width=160, record=True)
    console.print(*need_tables(block))
    assert "Asking against need" in console.export_text()
    env = Environment(loader=PackageLoader("evals"), undefined=StrictUndefined, autoescape=True)
    env.filters.update(number=number, interval=interval)
    assert "AUC" in env.get_template("need.html.j2").render(needs=[clean(block)])


@pytest.mark.parametrize("rate", [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]])
def test_a_figure_that_every_resample_repeats_has_no_interval(rate):
    hits = [hit for i, one in enumerate(rate) for hit in of_item(str(i), 2.0 * (i < 3), i < 3, [bool(one)] * 4)]
    block = figures(tabulate({1: tally("clarification", hits)}), "", 0.0)
    for name in ("auc", "slope"):
        assert not math.isnan(block[name]["value"])
        assert math.isnan(block[name]["low"]) and math.isnan(block[name]["high"])
    value = block["curve"][2]
    assert math.isnan(value["low"]) or value["low"] < value["high"]
    shown = {"prices": [1.0], "students": {"base": {"tasks": block | {"curve": [value]}}}}
    console = Console(width=160, record=True)
    console.print(*need_tables(shown))
    assert "nan" not in console.export_text()


def test_a_run_without_the_exam_has_no_block(tmp_path):
    exp = experiment(tmp_path)
    assert asking_against_need(Run(exp, {"base": "base"})) is None
    other = exp.model_copy(update={"exams": exp.exams.model_copy(update={"include": ("asking",)})})
    assert asking_against_need(Run(other, {"base": "base"})) is None


def test_scripts_with_known_behaviour_have_their_figures_on_a_file(tmp_path, capsys):
    rows = [{"request": VAGUE, "need": 3}, {"request": CLEAR, "need": 1}, {"request": "Go.", "need": "3"}]
    exp = experiment(tmp_path, written(tmp_path, *rows))
    found = {(row.who, row.metric.split("@")[0]): row.value for row in asyncio.run(EXAM.reference(exp))}
    assert found == {
        ("a script that always asks", "ask_due"): 0.5, ("a script that always asks", "ask_undue"): 0.5,
        ("a script that never asks", "ask_due"): 0, ("a script that never asks", "ask_undue"): 0,
        ("a script that asks where it is needed", "ask_due"): 0.5,
        ("a script that asks where it is needed", "ask_undue"): 0,
        ("a script that answers and offers more", "ask_due"): 0,
        ("a script that answers and offers more", "ask_undue"): 0,
    }  # fmt: skip
    assert "2 items, 1 rows could not be read" in capsys.readouterr().out


def test_the_embedded_base_is_not_asked_about_the_world_and_says_so(tmp_path, capsys):
    path = written(tmp_path, {"request": VAGUE, "need": 3})
    real = experiment(tmp_path, path, engine="transformers")
    assert sit(real, ScriptedModel(), []) == []
    asyncio.run(EXAM.reference(real))
    assert "need a real model" in capsys.readouterr().out
    cases = sit(experiment(tmp_path, path), ScriptedModel(("Which one?",)), [])
    assert {case.metric: case.hits / case.n for case in cases} == {
        "asks@need3/requests": 1, "asks_where_needed@requests": 1}  # fmt: skip
    assert {case.metric for case in cases} <= ratios(EXAM, experiment(tmp_path, path))


@pytest.mark.parametrize("need", [None, True, "2", math.nan])
def test_a_need_that_is_no_number_is_a_bad_row(need):
    with pytest.raises(RowError, match="'need' is"):
        request({"request": VAGUE, "need": need})


def test_a_file_without_a_row_that_can_be_read_is_an_error_with_its_first_reason(tmp_path):
    with pytest.raises(ConfigError, match=r"exams\.clarification\.path: .* no row .* 'request' is missing"):
        asyncio.run(EXAM.reference(experiment(tmp_path, written(tmp_path, {"need": 3}))))


def test_a_rerun_gives_the_same_and_no_more_is_asked_than_the_exam_says(tmp_path):
    exp = experiment(tmp_path)
    tasks, _ = load_tasks(exp.tasks, "exam")
    assert sit(exp, ScriptedModel(), tasks) == sit(exp, ScriptedModel(), tasks)
    assert EXAM.answers(exp, tasks) == 16 * 4

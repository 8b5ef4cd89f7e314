from __future__ import annotations

import json
import math
import random
import shutil
import tracemalloc
from collections import Counter
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

from evals.report.counting.counted_files import Seen
from evals.report.counting.counts import count, predict, see
from evals.report.summary import sentence, summarize
from evals.stats.wording_shortcut import EACH, Wordings, enough_wordings, wording, youden_j
from maieutic.cli import app
from pipeline.core.errors import RunError
from pipeline.core.schema import digest
from pipeline.datasets.survey import survey_of
from pipeline.experiment.experiment import load
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.dialogue_pool import Place
from pipeline.runs.store import StoreError, read, rewrite
from pipeline.tasks.settings import Tasks
from tests.evals.made_run import CONDITIONS, made_results, made_run, made_tasks, talk


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path / "made")


def test_the_summary_has_the_promised_shape_and_no_nan(run):
    summary = json.loads(json.dumps(summarize([run]).plain(), allow_nan=False))
    assert list(summary["conditions"]) == ["base", *CONDITIONS]
    facts = summary["conditions"]["facts"]
    assert facts["seeds"] == [1, 2]
    assert {"value", "low", "high", "n", "greedy", "apart"} == set(facts["metrics"]["ask_skill"])
    assert set(facts["counts"]) == {
        "tasks",
        "dialogues",
        "failures",
        "bad_rows",
        "selected",
        "rows",
        "student_tokens",
        "partner_tokens",
    }
    assert {
        "metric",
        "a",
        "b",
        "difference",
        "low",
        "high",
        "tasks",
        "seeds",
        "primary",
        "family",
        "p",
        "p_holm",
    } <= set(summary["comparisons"][0])
    assert [row["primary"] for row in summary["comparisons"]] == [True, False, False]
    assert summary["comparisons"][0]["p_holm"] is None


def test_a_difference_is_that_of_the_values_in_the_table(run):
    summary = summarize([run]).plain()
    for row in summary["comparisons"]:
        a, b = (summary["conditions"][row[side]]["metrics"][row["metric"]]["value"] for side in "ab")
        assert row["difference"] == pytest.approx(a - b, abs=1e-5)


def test_exams_that_are_partial_or_of_an_older_student_are_a_problem(run):
    student = run / "results" / "facts" / "seed-1.student.json"
    student.write_text(json.dumps({"model": "", "adapter": "another"}))
    for name in ("base", "blind"):
        (run / "results" / name / "seed-2.student.json").unlink()
    problems = summarize([run]).plain()["problems"]
    assert problems == [
        "base, seed 2: the engine failed at some scenarios of its exams; `maieutic eval` asks them again",
        "blind, seed 2: the engine failed at some scenarios of its exams; `maieutic eval` asks them again",
        "facts, seed 1: trained anew since it sat the exams; `maieutic eval` examines it again",
    ]
    shutil.rmtree(run / "adapters")
    assert summarize([run]).plain()["problems"][-2:] == problems[:2]


def test_students_that_were_asked_in_unlike_words_are_a_problem(run):
    for name, words in (("base", "first"), ("facts", "other")):
        student = run / "results" / name / "seed-1.student.json"
        student.write_text(json.dumps(json.loads(student.read_text()) | {"prompts": words}))
    told = "students sat the exams with unlike prompts; `maieutic eval` examines those again that are of before"
    assert summarize([run]).plain()["problems"] == [told]


def test_counts_are_derived_from_the_files_and_reconcile(run):
    summary = summarize([run]).plain()
    assert summary["problems"] == []
    counts = summary["conditions"]["facts"]["counts"]
    assert (counts["tasks"], counts["dialogues"], counts["failures"]) == (8, 15, 1)
    assert counts["rows"] == counts["selected"] <= counts["dialogues"]
    assert summary["conditions"]["facts"]["budgets"]["optimizer_steps"] == 6


def test_a_row_that_is_no_task_is_no_failed_dialogue(tmp_path):
    run = made_run(tmp_path / "made")
    failed = next(iter(read(run / "failures.jsonl", Failure)))
    row = failed.model_copy(update={"id": "bad", "task_id": "tasks.jsonl:7", "kind": "bad_task"})
    with (run / "failures.jsonl").open("a") as file:
        file.write(row.model_dump_json() + "\n")
    counts = summarize([run]).plain()["conditions"]["facts"]["counts"]
    assert (counts["dialogues"], counts["failures"], counts["bad_rows"]) == (15, 1, 1)


def test_counting_more_dialogues_takes_less_memory_than_they_have_bytes(tmp_path):
    peaks, sizes = [], []
    for tasks in (120, 240):
        run = made_run(tmp_path / str(tasks), count=tasks)
        experiment = load(run / "config.yaml").model_copy(update={"out": str(run)})
        count(experiment, "facts")  # what is imported or kept at first use is no part of it
        tracemalloc.start()
        count(experiment, "facts")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append((run / "dialogues" / "facts.jsonl").stat().st_size)
    assert peaks[1] - peaks[0] < (sizes[1] - sizes[0]) / 2


def test_a_lost_dialogue_does_not_reconcile(run):
    file = run / "dialogues" / "blind.jsonl"
    file.write_text("".join(line + "\n" for line in file.read_text().splitlines()[1:]))
    assert any(
        line.startswith("blind: 8 tasks x 1 per task x 2 seeds x 1 rounds = 16, but 15")
        for line in summarize([run]).plain()["problems"]
    )


def test_a_task_lost_under_every_seed_does_not_reconcile(run):
    file = run / "dialogues" / "blind.jsonl"
    gone = json.loads(file.read_text().splitlines()[0])["task"]["id"]
    file.write_text("".join(line + "\n" for line in file.read_text().splitlines() if gone not in line))
    assert "blind: the config asks for 8 tasks, the files hold 7" in summarize([run]).plain()["problems"]


def test_a_doubled_dialogue_does_not_reconcile(run):
    file = run / "dialogues" / "blind.jsonl"
    file.write_text(file.read_text() + file.read_text().splitlines()[0] + "\n")
    assert any("stored more than once" in line for line in summarize([run]).plain()["problems"])


def first_turns(asks: int, silent: int) -> list[Dialogue]:
    task = next(task for task in made_tasks(1) if task.missing)
    said = [task.missing[0].ask] * asks + [f"The answer is {task.wrong_answer}."] * silent
    turns = talk(task, CONDITIONS["facts"], random.Random(0))
    return [
        Dialogue(
            id=str(i),
            task=task,
            condition_name="facts",
            condition=CONDITIONS["facts"],
            seed=1,
            stop="turn_cap",
            turns=(turns[0].model_copy(update={"text": text}), *turns[1:]),
        )
        for i, text in enumerate(said)
    ]


def seen(dialogues: list[Dialogue], kept: set[str]) -> list[Seen]:
    records = [survey_of(dialogue, (), Place(0)) for dialogue in dialogues]
    return [see(*both)._replace(kept=both[0].id in kept) for both in zip(dialogues, records, strict=True)]


def test_the_prediction_is_the_ask_rate_among_the_kept():
    # 2 of 10 ask, both kept; 4 of the 8 others kept: .2 * 1 / (.2 * 1 + .8 * .5) = 1/3.
    found = predict(seen(first_turns(2, 8), {"0", "1", "2", "3", "4", "5"}))
    assert (found["prior"], found["keep_ask"], found["keep_no"]) == (0.2, 1.0, 0.5)
    assert found["ask_rate"] == pytest.approx(1 / 3)


def test_the_prediction_is_the_rate_before_where_first_acts_count_as_played():
    found = predict(seen(first_turns(2, 8), {"0", "1", "2", "3", "4", "5"}), "as_played")
    assert (found["ask_rate"], found["prior"], found["kept"]) == (0.2, 0.2, 6)
    nothing = predict(seen(first_turns(2, 8), set()), "as_played")
    assert math.isnan(nothing["ask_rate"]) and nothing["kept"] == 0


def test_the_prediction_is_of_the_last_round_alone():
    rounds = [
        d.model_copy(update={"id": f"{i}-{d.id}", "round": i})
        for i, asks in enumerate((4, 1))
        for d in first_turns(asks, 4 - asks)
    ]
    found = predict(seen(rounds, {d.id for d in rounds}))
    assert (found["ask_rate"], found["prior"], found["kept"], found["n"]) == (0.25, 0.25, 4, 4)


def test_a_condition_that_keeps_nothing_underspecified_has_no_prediction(run):
    blind = summarize([run]).plain()["conditions"]["blind"]
    assert blind["predicted"]["ask_rate"] is None and blind["predicted"]["observed"]["value"] is not None


def test_comparing_several_runs_leaves_each_runs_own_report_alone(tmp_path):
    runs = [made_run(tmp_path / name) for name in ("one", "two")]
    (runs[0] / "report.json").write_text("mine")
    assert CliRunner().invoke(app, ["compare", *map(str, runs)]).exit_code == 0
    assert (runs[0] / "report.json").read_text() == "mine"
    assert json.loads((runs[0] / "compared-with-two" / "report.json").read_text())["comparisons"]


def test_a_broken_line_of_results_is_named(run):
    file = next((run / "results" / "facts").glob("seed-1.jsonl"))
    file.write_text(file.read_text() + "{oops\n")
    with pytest.raises(StoreError, match=rf"{file.name}:\d+: not a case of an exam"):
        summarize([run])


def test_a_dataset_that_lost_rows_after_training_does_not_reconcile(run):
    file = next((run / "datasets" / "facts" / "sft").glob("*.parquet"))
    parquet.write_table(parquet.read_table(file).slice(1), file)
    assert any("trained on" in line and "the dataset holds" in line for line in summarize([run]).plain()["problems"])


def test_runs_with_other_exam_tasks_are_not_paired_and_said_to_be(tmp_path):
    runs = [made_run(tmp_path / "one"), made_run(tmp_path / "two")]
    for file in (runs[1] / "results").glob("*/seed-[12].jsonl"):
        file.write_text(file.read_text().replace('"task": "', '"task": "other-'))
    summary = summarize(runs).plain()
    between = [row for row in summary["comparisons"] if (row["a"], row["b"]) == ("two/facts", "one/facts")]
    assert [row["paired"] for row in between] == [False]
    assert any("sat different exam tasks (0 shared)" in note for note in summary["notes"])


def test_a_leading_wording_refuses_the_headline(tmp_path):
    run = made_run(tmp_path / "made", count=60)
    for file in (run / "dialogues").glob("*.jsonl"):
        rows = [Dialogue.model_validate_json(line) for line in file.read_text().splitlines()]
        rows = [
            row
            if row.task.missing
            else row.model_copy(
                update={"task": row.task.model_copy(update={"question": row.task.question + " Everything is known."})}
            )
            for row in rows
        ]
        file.write_text("".join(row.model_dump_json() + "\n" for row in rows))
    summary = summarize([run]).plain()
    assert summary["headline_refused"] and "refused" in summary["headline"] and "+0." not in summary["headline"]


def test_the_wording_of_few_tasks_is_measured_on_more_of_their_source(run, tmp_path):
    """Six tasks a kind say nothing, and what 52 give away by chance no exam has."""
    few = summarize([run]).plain()["youden_j"]
    assert few["n"] == 800 and few["low"] < few["value"] < few["high"] and few["value"] < 0.2
    many = summarize([made_run(tmp_path / "many", count=60)]).plain()["youden_j"]
    assert many["n"] == 120


def test_minimal_pairs_do_not_give_the_specification_away():
    assert youden_j(map(wording, made_tasks(100))) <= 0.2


def test_wording_is_measured_on_both_kinds_where_only_exams_have_both():
    met = Wordings()
    for task in made_tasks(60)[:60]:
        met.add(task.id, wording(task))
    transfer = Tasks(train={"full": 60}, exam={"full": 30, "underspecified": 30})
    assert Counter(row.lacks for row in enough_wordings(met, transfer)) == {True: EACH, False: EACH}
    assert enough_wordings(met, transfer.model_copy(update={"exam": {"full": 30}})) is met
    other = Tasks(source="embedded", train={}, exam={"underspecified": 30}, seed=5)
    apart = Tasks(train={"full": 60}, exam={"full": 30}, second=other)
    assert Counter(row.lacks for row in enough_wordings(met, apart)) == {True: EACH, False: EACH}
    # Who learns by playing, or from an expert, has no dialogues.
    assert Counter(row.lacks for row in enough_wordings(Wordings(), transfer)) == {True: EACH, False: EACH}


def test_a_wording_that_gives_half_of_the_tasks_away_is_seen_past_their_twins():
    # Far from its twin in the list, so that only grouping keeps both in one fold.
    full, lacking = made_tasks(60)[:60], made_tasks(60)[:59:-1]
    told = [t.model_copy(update={"question": t.question + " Everything is known."}) for t in full[::2]]
    assert youden_j(map(wording, [*told, *full[1::2], *lacking])) >= 0.4


@pytest.mark.parametrize("told", ["Всё известно.", "条件はすべて与えられている"])
def test_a_wording_that_gives_tasks_away_is_seen_in_any_script(told):
    def of(task, i):
        asked = "Сколько яблок у Маши?" if told[0] == "В" else "りんごはいくつありますか"
        return wording(task.model_copy(update={"question": f"{asked} {'' if task.missing else told}{i}"}))

    assert youden_j(of(task, i) for i, task in enumerate(made_tasks(30))) > 0.9


def test_tasks_whose_kind_has_one_problem_or_no_word_have_no_figure():
    full, lacking = made_tasks(30)[:30], made_tasks(30)[30:]
    same = [t.model_copy(update={"full_question": "One problem."}) for t in lacking]
    assert math.isnan(youden_j(map(wording, [*full, *same])))
    assert math.isnan(youden_j(wording(t.model_copy(update={"question": "?!"})) for t in [*full, *lacking]))


def test_of_very_many_tasks_some_are_gone_through_and_twins_stay_together(monkeypatch):
    made = list(map(wording, made_tasks(60)))
    monkeypatch.setattr("evals.stats.wording_shortcut.MOST", 40)
    first = sorted({row.full_question for row in made}, key=digest)[:20]
    assert youden_j(made) == youden_j(row for question in first for row in made if row.full_question == question)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.1, 0.3, "is higher under"), (-0.3, -0.1, "is lower under"), (-0.1, 0.3, "is not shown to differ")],
)
def test_the_headline_states_the_primary_whichever_way_it_fell(low, high, said):
    row = {
        "metric": "ask_skill",
        "a": "facts",
        "b": "volunteer",
        "difference": (low + high) / 2,
        "low": low,
        "high": high,
        "tasks": 100,
        "seeds": 3,
        "detectable": 0.09,
        "p": 0.04,
    }
    assert said in sentence(row) and f"{low:+.3f} to {high:+.3f}" in sentence(row)
    alone = sentence(row | {"p": math.nan, "low": -1.0, "high": 1.0, "tasks": 1, "seeds": 1})
    assert "too few" in alone and "interval" not in alone and "nan" not in alone


def test_who_lacks_a_seed_is_noted_and_its_contrasts_are_over_its_own_seeds(tmp_path):
    run = made_run(tmp_path / "made", seeds=(1, 2, 3))
    for file in (run / "results" / "facts").glob("seed-[23]*"):
        file.unlink()
    summary = summarize([run]).plain()
    assert any(note.startswith("facts: examined under seeds 1 of 1, 2, 3.") for note in summary["notes"])
    assert {row["seeds"] for row in summary["comparisons"] if "facts" in (row["a"], row["b"])} == {1}
    (run / "adapters/facts/seed-2.untrained.txt").write_text("nothing was kept\n")
    (note,) = [note for note in summarize([run]).plain()["notes"] if note.startswith("facts: examined")]
    assert "under 2 there was nothing to learn from; `maieutic eval` examines those that are trained." in note


def test_plumbing_and_single_seeds_are_noted(tmp_path):
    sham = CONDITIONS["blind"].model_copy(update={"label": "teacher"})
    notes = summarize([made_run(tmp_path / "made", seeds=(1,), conditions=CONDITIONS | {"sham": sham})]).plain()[
        "notes"
    ]
    assert any(note.startswith("sham: plumbing") for note in notes)
    assert any(note.startswith("One seed only: blind, volunteer, facts, sham") for note in notes)
    two = summarize([made_run(tmp_path / "two", seeds=(1, 2))]).plain()["notes"]
    assert any(note.startswith("Two seeds only: blind, volunteer, facts.") for note in two)


def test_a_contrast_between_a_partner_by_rule_and_a_model_is_noted(tmp_path):
    model = CONDITIONS["volunteer"].model_copy(update={"voice": "model"})
    mixed = summarize([made_run(tmp_path / "mixed", conditions=CONDITIONS | {"volunteer": model})]).notes
    (note,) = [each for each in mixed if "unlike voices" in each]
    assert "facts by rule and volunteer by model; volunteer by model and blind by rule" in note


def test_a_run_without_results_still_has_counts(run):
    for folder in (run / "results").iterdir():
        for file in folder.iterdir():
            file.unlink()
    summary = summarize([run]).plain()
    assert summary["conditions"]["facts"]["counts"]["dialogues"] == 15
    assert summary["conditions"]["facts"]["metrics"] == {}
    assert "was not measured" in summary["headline"]


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(RunError, match=r"no config\.yaml here\. Expected a run directory"):
        summarize([tmp_path])


def test_case_files_and_episode_files_are_told_apart(tmp_path):
    path = made_run(tmp_path / "made")
    before = summarize([path]).plain()["conditions"]["facts"]["metrics"]["ask_needed"]["n"]
    made_results(path, "facts", (3,), 0.5, 6)
    assert summarize([path]).plain()["conditions"]["facts"]["metrics"]["ask_needed"]["n"] == before * 3 / 2


def test_a_condition_that_had_nothing_to_learn_from_is_no_exam_that_waits(tmp_path):
    run = made_run(tmp_path / "made", conditions={"under_blind": Condition(partition="symmetric"), **CONDITIONS})
    path = run / "dialogues" / "under_blind.jsonl"
    wrong = [one for one in read(path, Dialogue) if one.task.missing]
    rewrite(path, wrong)
    shutil.rmtree(run / "results" / "under_blind")
    shutil.rmtree(run / "results" / "blind")
    notes = "\n".join(summarize([run]).plain()["notes"])
    assert "Nothing to learn from, so no student: under_blind." in notes and "No exam results yet: blind." in notes

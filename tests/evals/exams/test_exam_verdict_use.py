"""How much of a verdict a student uses: scripted students, hand-made replies, teachers' notes."""

import asyncio
import json
import math
import os
import random
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.exams.verdict_use import verdict_use
from evals.exams.verdict_use.revisers import PROBLEMS, SCRIPTS, Reviser
from evals.exams.verdict_use.verdict_use import (
    AGAIN,
    ARMS,
    EXAM,
    SUMS,
    figures,
    first_changed,
    heard,
    of_teachers,
    steps_of,
)
from evals.metrics.case import tally
from evals.sitting.exam import asked, not_asked
from evals.sitting.reference_rates import seated
from evals.stats.intervals import tabulate
from maieutic.show_preview import show_preview
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Turn
from pipeline.dialogue.rule_partner import rule_reply
from pipeline.engines.model import Completion
from pipeline.experiment.experiment import load
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.known import known
from pipeline.reading.attempt import attempt
from pipeline.reading.stated_answer import gives_away
from pipeline.tasks import stepverify
from pipeline.tasks.settings import Tasks
from pipeline.tasks.split import split_of
from pipeline.tasks.stepverify import Note
from tests.evals.small_exam import exam_experiment, is_declared, rate, ratios
from tests.fakes import FakeModel

CRATES = PROBLEMS[0]  # three steps, the first of which is wrong; 7 said, 21 right
CONFIG = Path(__file__).parents[3] / "configs" / "stepverify_qwen3_0.6b.yaml"
SAME = CRATES.draft.text


experiment = partial(exam_experiment, "verdict_use", episodes=2)


def rates(student, **kept) -> dict[str, float]:
    cases = asyncio.run(verdict_use.asked_of(seated(experiment(**kept), student), PROBLEMS))
    tables = tabulate({0: cases})
    names = {*SUMS, *ratios(EXAM, experiment())}
    return {name: rate(EXAM, tables, name).value for name in names}


def test_the_references_tell_every_script_from_every_other():
    rows = asyncio.run(verdict_use.reference(experiment()))
    figure = {(row.who, row.metric): row.value for row in rows}
    names = ("use_wrong", "use_where", "use_elsewhere", "use_what", "gain_what")
    found = [[figure[who, name] for name in names] for who in SCRIPTS]
    assert found == [[0, 1, 0, 1, 1], [1, 0.75, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert all(row.n == len(PROBLEMS) and math.isnan(row.low) for row in rows)


def test_who_goes_where_it_is_told_goes_wrong_as_well_and_who_checks_does_not():
    obeys, checks = rates(Reviser(place=True)), rates(Reviser(place=True, checks=True))
    assert obeys["revises_other@elsewhere"] == obeys["revises_error@where"] == 1
    assert checks["revises_other@elsewhere"] == checks["revises@elsewhere"] == 0 < checks["revises_error@where"]
    assert obeys["revises_error@elsewhere"] == obeys["mends@where"] == 0


class Notes(FakeModel):
    """Says its line, and keeps what was said to it."""

    def __init__(self, line):
        self.line, self.heard = line, []

    async def complete(self, messages, sampling):
        self.heard.append((sampling.seed, tuple((m["role"], m["content"]) for m in messages)))
        return Completion(self.line, tokens=1, prompt_tokens=1)


def test_arms_differ_in_what_was_said_of_the_solution_alone_and_none_says_the_answer():
    notes = Notes("Hm.")
    asyncio.run(verdict_use.asked_of(seated(experiment(episodes=1), notes), PROBLEMS[:2]))
    per_task = [notes.heard[i : i + len(ARMS)] for i in range(0, len(notes.heard), len(ARMS))]
    assert len(per_task) == 2
    for task, arms in zip(PROBLEMS, per_task, strict=False):
        assert len({seed for seed, _ in arms}) == 1
        assert len({messages[:-1] for _, messages in arms}) == 1
        assert arms[0][1][-2] == ("assistant", task.draft.text)
        none, wrong, where, what, elsewhere = (messages[-1][1].removesuffix(AGAIN).strip() for _, messages in arms)
        assert none == "" and where.startswith(wrong) and what == f"{where} {task.draft.what}"
        assert where.replace(f"step {task.draft.where}", "step N") == elsewhere.replace(
            f"step {3 - task.draft.where}", "step N"
        )
        for said in (none, wrong, where, what, elsewhere):
            assert not gives_away(said, task.answer, task.full_question)


def test_the_exam_points_in_the_words_of_the_partner_in_exam_wordings():
    key, condition = "k", Condition(partition="verifier_what")
    said = rule_reply(
        known(CRATES, condition, "partner"),
        condition,
        [Turn(party="student", text=SAME)],
        False,
        random.Random(key),
        "exam",
    ).text
    assert heard(CRATES.draft, "what", 0, key) == f"{said} {AGAIN}"


@pytest.mark.parametrize(("reply", "shows"), [
    (SAME, set()),
    ("**" + SAME.replace("\nStep", "\n\n**Step").replace(":", ":**"), set()),
    (SAME.replace("Ida buys 6 + 4 = 10 jars", "She bought 6 jars + 4 jars, which is 10"), set()),
    (SAME.replace("6 + 4 = 10", "6 x 4 = 24"), {"revises", "revises_error"}),
    (SAME.replace("10 - 3 = 7", "10 - 3 = 8"), {"revises", "revises_other"}),
    (SAME.replace("is 7.", "is 21."), {"revises", "mends", "mends_with_other"}),
    ("Step 1: 4 x 6 = 24.\nStep 2: 24 - 3 = 21.\nThe answer is 21.",
     {"revises", "revises_error", "mends", "mends_with_other"}),
    (SAME.replace("\nThe", "\nStep 4: That is all of 7.\nThe"), {"revises"}),
    ("The answer is 7.", set()),
    ("I am not sure what to change.", {"no_step_or_answer"}),
    ("Step one is wrong, I think.", {"no_step_or_answer"}),
])  # fmt: skip
def test_what_a_reply_shows_is_read_off_its_steps_and_its_answer(reply, shows):
    assert {
        metric for metric, hit in figures(CRATES, 3, Turn(party="student", text=reply), attempt(reply)) if hit
    } == shows


@pytest.mark.parametrize(("cut_after", "shows"), [
    ("Step 1: ", set()), ("Step 2: ", set()), ("Step 3: Together", set()),
])  # fmt: skip
def test_a_reply_that_was_cut_has_changed_nothing_that_it_did_not_come_to(cut_after, shows):
    begun = SAME[: SAME.index(cut_after[:7]) + len(cut_after)]
    cut = Turn(party="student", text=begun, finished=False)
    assert {metric for metric, hit in figures(CRATES, 3, cut, None) if hit} == shows
    changed = cut.model_copy(update={"text": begun.replace("6 + 4 = 10", "6 x 4 = 24")})
    seen = {metric for metric, hit in figures(CRATES, 3, changed, None) if hit}
    assert seen == (set() if cut_after == "Step 1: " else {"revises", "revises_error"})


def test_a_row_without_another_place_has_no_case_of_it_and_all_others():
    assert [name for name, _ in figures(CRATES, 0, Turn(party="student", text=SAME), CRATES.draft.answer)] == [
        "no_step_or_answer",
        "revises",
        "revises_error",
        "mends",
    ]
    cases = asyncio.run(verdict_use.asked_of(seated(experiment(), Reviser()), PROBLEMS[:1]))
    found = {case.metric for case in cases}
    assert "revises@where" in found and not any("elsewhere" in metric or "other" in metric for metric in found)
    assert math.isnan(rate(EXAM, tabulate({0: cases}), "use_elsewhere").value)


def test_who_solves_rows_without_another_place_alone_gains_nothing_elsewhere():
    """Those rows have no reply to the other place, and would stand on one side."""
    row = [
        (name, float(hit)) for name, hit in figures(CRATES, 0, Turn(party="student", text="The answer is 21."), "21")
    ]
    other = [
        (name, float(hit)) for name, hit in figures(CRATES, 3, Turn(party="student", text=SAME), CRATES.draft.answer)
    ]
    hits = [("solved", f"{name}@none", hit) for name, hit in row]
    hits += [("other", f"{name}@{arm}", hit) for arm in ("none", "elsewhere") for name, hit in other]
    cases = tally("verdict_use", hits)
    assert rate(EXAM, tabulate({0: cases}), "gain_elsewhere").value == 0
    assert rate(EXAM, tabulate({0: cases}), "mends@none").value == 0.5


texts = st.lists(st.integers(0, 99).map(lambda n: f"It is {n} pens."), min_size=1, max_size=6)


@given(texts, st.data())
@settings(deadline=None)
def test_the_first_step_that_is_touched_is_the_first_that_has_changed(steps, data):
    said = "\n".join(f"Step {i}: {step}" for i, step in enumerate(steps, start=1)) + "\nThe answer is 5."
    assert first_changed(steps, steps_of(said)) is None
    touched = data.draw(st.lists(st.integers(1, len(steps)), min_size=1, unique=True))
    new = {i: "It is 100 pens." if i in touched else step for i, step in enumerate(steps, start=1)}
    assert first_changed(steps, new) == min(touched)


def teacher(problem: str, where: int, what: str = "adds") -> Note:
    return Note(
        problem=problem,
        gold="15",
        reference="",
        steps=("Ana has 7.", "They have 12."),
        answer="12",
        where=where,
        what=what,
        category="",
    )


def test_teachers_are_compared_in_pairs_on_one_solution():
    found = {}
    for case in of_teachers([teacher("P?", 1), teacher("P?", 1, ""), teacher("P?", 2), teacher("Q?", 2, "says 15")]):
        hits, n = found.get(case.metric, (0, 0))
        found[case.metric] = hits + case.hits, n + case.n
    assert found["same_step"] == (1, 3) and found["same_step_chance"][1] == 2
    assert (found["error_at/1"], found["error_at/2"], found["error_at/5"]) == ((2, 4), (2, 4), (0, 4))
    assert (found["described"], found["described_words"], found["described_leak"]) == ((3, 4), (4, 3), (1, 3))


def rows(count: int) -> list[dict]:
    """Rows of distinct problems; in every third the second step is the wrong one."""
    made = []
    for i in range(count):
        n, at = i + 3, 1 if i % 3 == 0 else 0
        steps = [f"Ola has {n} + 2 = {n + 2} plums.", f"Both have {n + 2} + {n} = {2 * n + 2} plums."]
        made.append({
            "problem": f"Per has {n} plums and Ola twice as many. How many plums have both?",
            "reference_solution": f"Ola has {2 * n}.\nBoth have {3 * n}.\n {3 * n}",
            "student_incorrect_solution": [*steps, str(2 * n + 2)],
            "incorrect_index": at,
            "incorrect_step": steps[at],
            "error_description": "takes twice for two more",
        })  # fmt: skip
    return made


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "stepverify"
    folder.mkdir()
    path = folder / "stepverify_half.json"
    path.write_text(json.dumps(rows(60)))
    return path


def test_only_the_exam_split_is_asked_about_and_cases_are_counted_by_problem(corpus):
    held_out = [row for row in rows(60) if split_of(row["problem"]) == "exam"]
    cases = asyncio.run(EXAM.sit(seated(experiment(verdict_use={"path": str(corpus)}), Notes(SAME))))
    assert 0 < len(held_out) < 60
    assert len({case.task for case in cases}) == len(held_out)
    assert {case.n for case in cases if case.metric == "revises@none"} == {2}
    assert EXAM.answers(experiment(verdict_use={"path": str(corpus)}), []) == 2 * len(ARMS) * len(held_out)


def test_a_file_that_is_not_there_is_an_error_that_names_the_key():
    with pytest.raises(ConfigError, match=r"exams\.verdict_use\.path: 'nowhere\.json' is not a file"):
        asyncio.run(EXAM.sit(seated(experiment(verdict_use={"path": "nowhere.json"}), Notes(SAME))))


def test_every_figure_has_its_meaning_and_the_embedded_base_is_asked_none():
    real = experiment().model_copy(update={"engine": experiment().engine.model_copy(update={"kind": "transformers"})})
    assert asked(EXAM, real) == set() and not_asked(EXAM, real) == ratios(EXAM, real)
    assert all(is_declared(EXAM, name) for name in {*ratios(EXAM, real), *SUMS})


def test_the_shipped_config_is_previewed_with_the_scripted_engine(corpus, monkeypatch, capsys):
    monkeypatch.setenv("MAIEUTIC_DATA", str(corpus.parents[1]))
    made = load(CONFIG, ("engine.kind=scripted",))
    tasks, bad = stepverify.read(Tasks(source="stepverify", path=made.tasks.path))
    assert len(tasks) == 60 and not bad
    show_preview(made, 0, 1)
    said = capsys.readouterr().out
    assert "A first solution:" in said and "Only you know: The first solution first goes wrong in step" in said
    assert said.count("A first solution:") >= 4  # in the views of four conditions


def test_a_repeated_public_solution_is_never_read_as_changed():
    folder = os.environ.get("MAIEUTIC_DATA")
    if not folder:
        pytest.skip("MAIEUTIC_DATA is not set: the reading of public wrong solutions is not checked")
    path = str(Path(folder) / "stepverify" / "stepverify_half.json")
    tasks, _ = stepverify.read(Tasks(source="stepverify", path=path))
    assert len(tasks) == 348
    for task in tasks:
        assert not any(
            hit for _, hit in figures(task, 1, Turn(party="student", text=task.draft.text), task.draft.answer)
        ), task.id

"""Critical questions before each turn: what the student reads, what nobody else does, and what it costs."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.examining.answers_asked import most_answers
from evals.examining.exam_checks import measured
from evals.examining.examine import examine
from evals.exams.persuader.persuader import PRIVATE
from evals.exams.private.private import MINDREADERS
from evals.sitting.exam_partners import OPENING
from evals.sitting.scaffold import PASSES, PLAN, QUESTIONS, VERDICT_TOKENS, Questioned, check_scaffold, scaffolded
from maieutic.cli import app
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Fact, Message, Task, Turn
from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.exam_settings import Cqot
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import probe, script_view, view
from pipeline.tasks.loading import load_tasks
from tests.builders import small_experiment
from tests.fakes import FakeModel, Parrot

HERE = Path("mine.yaml")
TASK = Task(
    id="f", source="embedded", specification="full", question="Tom has 3 pens. How many?", full_question="-",
    answer="3", facts=(Fact(id="a", text="Tom has 3 pens."),),
)  # fmt: skip
ASKED = [{"role": "user", "content": "How many pens?"}]


def experiment(scaffold="cqot", out="", kind="scripted", include=("asking", "collapse")) -> Experiment:
    return small_experiment(
        exams={"scaffold": scaffold, "include": include, "samples": 2, "episodes": 1, "beliefs": 2},
        out=out,
        engine={"kind": kind},
        tasks={"exam": {"full": 2, "underspecified": 2}},
    )


class Thinker(FakeModel):
    """Notes what it needs when it is to plan, passes `passes` of the questions about it, or as many more with every
    plan, and asks for what it needs only where it reads its notes.
    """

    def __init__(self, passes=8, more=0):
        super().__init__()
        self.asked, self.passes, self.more, self.plans = self.seen, passes, more, 0

    def reply(self, messages: list[Message]) -> str:
        last = messages[-1]["content"]
        if PLAN in last:
            self.plans += 1
            return f"SECRET PLAN {self.plans}: a number is missing."
        if "A question about them." in last:
            at = next(i for i, question in enumerate(QUESTIONS) if question in last)
            return "Yes, it is." if at < self.passes + self.more * (self.plans - 1) else f"No, not number {at}."
        return "What is the number?" if "SECRET PLAN" in last else "I guess the answer is 9."


def said(model, sampling=Sampling(16)) -> Completion:
    return asyncio.run(model.complete(ASKED, sampling))


def test_a_turn_is_said_with_the_students_own_notes_in_view_and_all_is_paid_for():
    student = Thinker()
    assert said(student).text == "I guess the answer is 9."
    model = scaffolded(experiment(), student)
    assert said(model) == Completion("What is the number?", tokens=3 * 10, prompt_tokens=10 * 10)
    planning, *questions, saying = student.asked[1:]
    assert [message["content"] for message in planning] == [f"How many pens?\n\n{PLAN}"]
    assert [next(q for q in QUESTIONS if q in each[-1]["content"]) for each in questions] == QUESTIONS
    assert all("SECRET PLAN 1" in each[-1]["content"] for each in questions)
    assert saying[0]["content"].startswith("Your private notes") and saying[0]["content"].endswith("How many pens?")


def test_there_are_eight_questions_and_seven_pass_a_plan():
    assert (len(QUESTIONS), PASSES) == (8, 7)
    for passes, plans in ((8, 1), (7, 1), (6, 3), (0, 3)):
        student = Thinker(passes)
        said(scaffolded(experiment(), student))
        assert student.plans == plans, passes


def test_a_plan_that_does_not_pass_is_made_anew_with_what_failed_in_view():
    student = Thinker(passes=6, more=1)
    model = scaffolded(experiment(), student)
    said(model)
    [again] = [each[-1]["content"] for each in student.asked if PLAN in each[-1]["content"]][1:]
    assert "SECRET PLAN 1" in again and f"{QUESTIONS[6]} No, not number 6." in again and QUESTIONS[5] not in again
    assert "SECRET PLAN 2" in student.asked[-1][-1]["content"]
    assert {name: sum(hits) / len(hits) for name, hits in model.counts().items()} == {
        "questions_read": 1.0,
        "plans_passed": 1.0,
        "plans_made": 2.0,
    }


def test_where_none_passes_the_plan_with_the_most_yes_stands():
    student = Thinker(passes=5, more=-2)
    model = scaffolded(experiment(), student)
    said(model)
    assert student.plans == 3 and "SECRET PLAN 1" in student.asked[-1][-1]["content"]
    assert model.counts()["plans_passed"] == [0.0]


def test_an_answer_that_is_neither_yes_nor_no_passes_nothing_and_is_counted():
    model = Questioned(Parrot("Hm."), Cqot(tries=2))
    said(model)
    assert model.counts() == {"questions_read": [0.0] * 16, "plans_passed": [0.0], "plans_made": [2.0]}


def test_notes_are_as_long_as_the_config_says_whatever_a_turn_may_be():
    student = Thinker()
    said(Questioned(student, Cqot(notes_tokens=200)), Sampling(16))
    assert [sampling.max_tokens for sampling in student.samplings] == [200, *[VERDICT_TOKENS] * 8, 16]


class Obedient(Thinker):
    """Does what the last line that it reads asks for."""

    def reply(self, messages: list[Message]) -> str:
        last = messages[-1]["content"].splitlines()[-1]
        forms = {
            "yes or no": "Yes.",
            "only your own answer": "The answer is 9.",
            "Write the whole talk": "Student: Hi.\nPartner: Ho.",
        }
        return next((text for form, text in forms.items() if form in last), "Well.")


@pytest.mark.parametrize(("asked", "kept"), [
    (probe(view(TASK, OPENING, [], "student"), "Say only your own answer."), "The answer is 9."),
    (probe(view(TASK, OPENING, [Turn(party="student", text="Hm.")], "student"), "Say only your own answer."),
     "The answer is 9."),
    ([{"role": "user", "content": PRIVATE.format("Tea is good")}], "Yes."),
    (script_view(TASK, MINDREADERS), "Student: Hi.\nPartner: Ho."),
])  # fmt: skip
def test_a_belief_a_yes_or_no_and_a_script_stay_what_they_are(asked, kept):
    plain, noted = (asyncio.run(model.complete(asked, Sampling(16))) for model in (
        Obedient(), scaffolded(experiment(), Obedient())
    ))  # fmt: skip
    assert plain.text == noted.text == kept


def test_without_a_scaffold_the_student_is_itself():
    student = Thinker()
    assert scaffolded(experiment("none"), student) is student


def test_notes_and_turn_have_streams_of_their_own_that_the_turn_names():
    student = Thinker()
    model = Questioned(student, Cqot(tries=1))
    for seed in (1, 2, 1):
        said(model, Sampling(16, seed=seed))
    drawn = [sampling.seed for sampling in student.samplings]
    assert drawn[:10] == drawn[20:] and len(set(drawn)) == 20


def sit(tmp_path, scaffold):
    exp = experiment(scaffold, tmp_path / scaffold)
    tasks, _ = load_tasks(exp.tasks, "exam")
    student, peer = Thinker(), Thinker()
    path = asyncio.run(examine(Cell(exp, "base", 1), None, student, peer, tasks, []))
    return [json.loads(line) for line in path.read_text().splitlines()], student, peer, path


def test_notes_stay_out_of_every_transcript_and_before_the_peer(tmp_path):
    _, student, peer, path = sit(tmp_path, "cqot")
    assert any("SECRET PLAN" in messages[-1]["content"] for messages in student.asked)
    assert not any("SECRET PLAN" in str(messages[:-1]) for messages in student.asked)
    assert peer.asked and not any("SECRET PLAN" in str(messages) for messages in peer.asked)
    assert "SECRET PLAN" not in path.with_suffix(".episodes.jsonl").read_text()
    kept = [json.loads(line) for line in path.with_suffix(".notes.jsonl").read_text().splitlines()]
    assert len(kept) > 1 and all("SECRET PLAN" in row["notes"][0]["plan"] for row in kept)


def test_what_became_of_the_questions_is_counted_of_the_whole_sitting(tmp_path):
    cases = {case["metric"]: case for case in sit(tmp_path, "cqot")[0] if case["exam"] == "all"}
    assert cases["questions_read"]["hits"] == cases["questions_read"]["n"] == 8 * cases["plans_passed"]["n"] > 8
    assert {"questions_read", "plans_passed", "plans_made"} <= measured(experiment())
    assert not {"questions_read", "plans_passed", "plans_made"} & measured(experiment("none"))


def test_any_exam_sees_what_the_scaffold_does(tmp_path):
    share = {}
    for scaffold in ("none", "cqot"):
        found = [c for c in sit(tmp_path, scaffold)[0] if c["metric"] == "attempt_unknowing" and not c["greedy"]]
        share[scaffold] = sum(c["hits"] for c in found) / sum(c["n"] for c in found)
    assert share == {"none": 1.0, "cqot": 0.0}


def test_the_price_of_a_scaffold_is_every_plan_and_every_question():
    tasks, _ = load_tasks(experiment().tasks, "exam")
    assert most_answers(experiment(), tasks, 0) == (1 + 3 * 9) * most_answers(experiment("none"), tasks, 0)


def test_the_embedded_base_is_refused_with_what_to_do():
    with pytest.raises(ConfigError, match=r"mine\.yaml: exams\.scaffold: 'cqot' needs a real model.*student\.model"):
        check_scaffold(HERE, experiment(kind="transformers"))
    check_scaffold(HERE, experiment("none", kind="transformers"))
    check_scaffold(HERE, experiment())


def test_the_command_refuses_before_it_runs_anything():
    result = CliRunner().invoke(app, ["run", "configs/quickstart.yaml", "--set", "exams.scaffold=cqot"])
    assert result.exit_code == 2 and "needs a real model" in result.stderr

"""Critical questions before each turn: what the student reads, what nobody else does, and what it costs."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.examining.answers_asked import most_answers
from evals.examining.examine import examine
from evals.exams.persuader.persuader import PRIVATE
from evals.exams.private.private import MINDREADERS
from evals.sitting.exam_partners import OPENING
from evals.sitting.scaffold import QUESTIONS, Questioned, check_scaffold, scaffolded
from maieutic.cli import app
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Fact, Message, Task, Turn
from pipeline.engines.model import Completion, Sampling
from pipeline.experiment.cell import Cell
from pipeline.experiment.experiment import Experiment
from pipeline.knowledge.view import probe, script_view, view
from pipeline.tasks.loading import load_tasks
from tests.builders import small_experiment
from tests.fakes import FakeModel

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
    """Notes what it needs when it is asked the critical questions, and asks for it only where it reads its notes."""

    def __init__(self):
        self.asked = list[list[Message]]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.asked.append(messages)
        last = messages[-1]["content"]
        if "Claim: is it clear" in last:
            return Completion("SECRET PLAN: a number is missing.", tokens=7, prompt_tokens=20)
        return Completion(
            "What is the number?" if "SECRET PLAN" in last else "I guess the answer is 9.", tokens=5, prompt_tokens=30
        )


def said(model, sampling=Sampling(16)) -> Completion:
    return asyncio.run(model.complete(ASKED, sampling))


def test_a_turn_is_said_with_the_students_own_notes_in_view_and_both_are_paid_for():
    student = Thinker()
    assert said(student).text == "I guess the answer is 9."
    assert said(scaffolded(experiment(), student)) == Completion("What is the number?", tokens=12, prompt_tokens=50)
    planning, saying = student.asked[-2:]
    assert [message["content"] for message in planning] == [f"How many pens?\n\n{QUESTIONS.read_text('utf-8').strip()}"]
    assert saying[0]["content"].startswith("Your private notes") and saying[0]["content"].endswith("How many pens?")


class Obedient(Thinker):
    """Does what the last line that it reads asks for."""

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        last = messages[-1]["content"].splitlines()[-1]
        forms = {
            "yes or no": "Yes.",
            "only your own answer": "The answer is 9.",
            "Write the whole talk": "Student: Hi.\nPartner: Ho.",
        }
        return Completion(
            next((text for form, text in forms.items() if form in last), "Well."), tokens=1, prompt_tokens=1
        )


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


class Seeds(Thinker):
    def __init__(self):
        self.drawn = list[int]()

    async def complete(self, messages: list[Message], sampling: Sampling) -> Completion:
        self.drawn.append(sampling.seed)
        return Completion("Hm.", tokens=1, prompt_tokens=1)


def test_notes_and_turn_have_streams_of_their_own_that_the_turn_names():
    student = Seeds()
    model = Questioned(student, "Why?")
    for seed in (1, 2, 1):
        said(model, Sampling(16, seed=seed))
    assert student.drawn[:2] == student.drawn[4:] and len(set(student.drawn)) == 4


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


def test_any_exam_sees_what_the_scaffold_does(tmp_path):
    share = {}
    for scaffold in ("none", "cqot"):
        found = [c for c in sit(tmp_path, scaffold)[0] if c["metric"] == "attempt_unknowing" and not c["greedy"]]
        share[scaffold] = sum(c["hits"] for c in found) / sum(c["n"] for c in found)
    assert share == {"none": 1.0, "cqot": 0.0}


def test_a_scaffold_doubles_what_the_exams_may_cost():
    tasks, _ = load_tasks(experiment().tasks, "exam")
    assert most_answers(experiment(), tasks, 0) == 2 * most_answers(experiment("none"), tasks, 0)


def test_the_embedded_base_is_refused_with_what_to_do():
    with pytest.raises(ConfigError, match=r"mine\.yaml: exams\.scaffold: 'cqot' needs a real model.*student\.model"):
        check_scaffold(HERE, experiment(kind="transformers"))
    check_scaffold(HERE, experiment("none", kind="transformers"))
    check_scaffold(HERE, experiment())


def test_the_command_refuses_before_it_runs_anything():
    result = CliRunner().invoke(app, ["run", "configs/quickstart.yaml", "--set", "exams.scaffold=cqot"])
    assert result.exit_code == 2 and "needs a real model" in result.stderr

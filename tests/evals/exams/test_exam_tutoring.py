"""The student as tutor, with tutors by script and hand-made talks."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.examining.exam_checks import measured
from evals.exams import tutoring
from evals.exams.tutoring import EXAM, TutoredProblem, course, figures, naive, rule_student
from evals.sitting.sitting import Sitting
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Fact, Task, Turn
from pipeline.engines.model import Completion
from pipeline.experiment.experiment import Experiment
from pipeline.reading.stored import partner_reading
from pipeline.tasks.hidden_item.hidden_item_tasks import make_task
from pipeline.tasks.split import split_of
from tests.builders import small_experiment
from tests.fakes import FakeModel

FACTS = (
    Fact(id="a", text="Tom has 30 pens.", public=False, ask="How many pens does Tom have?"),
    Fact(id="b", text="Ana has 12 pens.", public=False, ask="How many pens does Ana have?"),
)
TASK = Task(
    id="u",
    source="embedded",
    specification="underspecified",
    question="How many pens do Tom and Ana have together?",
    full_question="Tom has 30 pens. Ana has 12 pens. How many pens do Tom and Ana have together?",
    answer="42",
    solution="30 + 12 = 42.",
    facts=FACTS,
)


class Tutor(FakeModel):
    """Says its lines in order, from the first in every talk."""

    def __init__(self, *lines: str):
        self.lines = lines

    async def complete(self, messages, sampling):
        said = sum(message["role"] == "assistant" for message in messages)
        text = self.lines[min(said, len(self.lines) - 1)]
        return Completion(text, tokens=len(text.split()), prompt_tokens=1)


def experiment(**exams) -> Experiment:
    return small_experiment(exams={"include": ["tutoring"], "episodes": 2} | exams, dialogue={"turns": 3}, engine={})


def sat(*lines: str, seed: int = 1) -> dict[str, tuple[float, int]]:
    sitting = Sitting(experiment=experiment(), student=Tutor(*lines), peer=Tutor("Go on."), seed=seed, tasks=(TASK,))
    return {case.metric: (case.hits, case.n) for case in asyncio.run(EXAM.sit(sitting))}


def talk(*lines: str) -> list[Turn]:
    return [Turn(party="partner" if i % 2 else "student", text=line) for i, line in enumerate(lines)]


def says(task: Task, turns: list[Turn]) -> str:
    """What the student by rule says, who understands with the closed reader."""
    heard = [partner_reading(task, turns, i) for i, turn in enumerate(turns) if turn.party == "partner"]
    return rule_student(task, turns, heard)


def test_a_tutor_that_gives_the_answer_away_succeeds_by_telling_and_reaches_nothing():
    found = sat("The answer is 42.")
    for k in (1, 2, 3):
        assert found[f"tutor_success_turn{k}"] == found[f"tutor_telling_turn{k}"] == (2.0, 2)
        assert found[f"tutor_reached_turn{k}"] == (0.0, 2)


def test_a_tutor_that_answers_succeeds_after_as_many_turns_as_facts_are_missing():
    found = sat("Tom has 30 pens.", "Ana has 12 pens.")
    assert [found[f"tutor_reached_turn{k}"] for k in (1, 2, 3)] == [(0.0, 2), (2.0, 2), (2.0, 2)]
    assert [found[f"tutor_telling_turn{k}"][0] for k in (1, 2, 3)] == [0.0, 0.0, 0.0]


def test_a_tutor_that_says_nothing_of_use_neither_succeeds_nor_tells():
    assert {hits for hits, _ in sat("Go on.").values()} == {0.0}


def test_a_file_without_a_dialogue_that_can_be_read_is_refused_by_its_key(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("id,claim\n1,It rains.\n")
    with pytest.raises(ConfigError, match=r"exams\.tutoring\.path: .* has no row that can be read.*not JSON"):
        asyncio.run(EXAM.reference(experiment(tutoring={"path": str(path)})))


def test_of_facts_without_a_number_none_is_heard_that_was_not_told():
    task = make_task(1, "underspecified")
    first = says(task, [])
    assert first == task.missing[0].ask
    for idle in ("Hm.", "Go on."):
        assert says(task, talk(first, idle)) == first
    assert says(task, talk(first, task.missing[0].text)) != first and TutoredProblem(task).public


def test_a_tutor_that_is_wrong_is_believed():
    assert says(TASK, talk("How many pens does Tom have?", "The answer is 7.")) == "The answer is 7."


@pytest.mark.parametrize("line", ["It is 30.", "30.", "You should use 30 for that.", "The missing number is 30."])
def test_a_tutor_that_answers_a_question_for_a_fact_by_its_number_tells_that_fact(line):
    asks = ("How many pens does Tom have?", "How many pens does Ana have?")
    assert says(TASK, talk(asks[0], line)) == asks[1]
    assert says(TASK, talk(asks[0], line, asks[1], "Twelve? It is 12.")) == "The answer is 42."
    assert says(TASK, talk(asks[0], "The answer is 30.")) == "The answer is 30."


@pytest.mark.parametrize(("lines", "expected"), [
    (("I get 41.", "Is that so?", "I get 42."), (1, None)),
    (("I get 41.", "The answer is 42.", "I get 42."), (1, 1)),
    (("I get 41.", "Look again.", "I get 40.", "It is 42.", "I see."), (None, 2)),
    (("I get 41.", "Look again.", "I get 42.", "Yes, the answer is 42."), (1, None)),  # confirms: no telling
    (("I get 42.", "Why?", "I am not sure."), (None, None)),  # said before any tutor turn
])  # fmt: skip
def test_who_came_to_the_answer_first_is_read_off_the_turns(lines, expected):
    task = TASK.model_copy(update={"source": "mathdial"})
    assert course(TutoredProblem(task, lines[0]), talk(*lines)) == expected


@settings(deadline=None)
@given(st.lists(st.sampled_from(["I get 41.", "The answer is 42.", "Look again.", "How many has Ana?"]), max_size=9))
def test_success_and_telling_only_grow_with_k_and_what_is_reached_was_not_told(said):
    hits = {metric: hit for _, metric, hit in figures(TutoredProblem(TASK), talk("I get 41.", *said), 5)}
    for name in ("success", "telling"):
        by_k = [hits[f"tutor_{name}_turn{k}"] for k in range(1, 6)]
        assert by_k == sorted(by_k)
    for k in range(1, 6):
        success, telling, reached = (hits[f"tutor_{name}_turn{k}"] for name in ("success", "telling", "reached"))
        assert reached == success * (1 - telling)


@pytest.mark.parametrize(("item", "public"), [
    (TutoredProblem(TASK), False),
    (TutoredProblem(TASK.model_copy(update={"answer": "30"})), True),
    (TutoredProblem(TASK, "30 + 12 = 43, and 43 - 1 = 42."), True),
    (TutoredProblem(TASK, "30 + 12 = 43."), False),
])  # fmt: skip
def test_an_item_whose_gold_stands_somewhere_already_is_counted_apart(item, public):
    assert item.public is public
    assert {"@public" in metric for _, metric, _ in figures(item, talk("I get 43.", "Hm.", "I get 42."), 2)} == {public}


def test_a_bare_number_match_calls_a_gold_number_in_a_wrong_step_a_success():
    item = TutoredProblem(TASK.model_copy(update={"source": "mathdial", "answer": "12"}), "I get 41.")
    turns = talk("I get 41.", "How many pens does Ana have?", "Ana has 12 pens, so together they have 41.")
    hits = {metric: hit for _, metric, hit in naive(item, turns, 1)}
    assert hits == {"tutor_success_turn1": 1.0, "tutor_telling_turn1": 0.0}
    assert course(item, turns) == (None, None)


def test_one_seed_gives_one_set_of_cases_and_each_is_a_ratio_to_contrast():
    assert sat("Go on.", "Tom has 30 pens.") == sat("Go on.", "Tom has 30 pens.")
    assert sat("Go on.").keys() <= measured(experiment())


@settings(deadline=None)
@given(st.integers(1, 99), st.integers(100, 999), st.sampled_from([("Hm.",), ("Tom has 30 pens.",), ("Hm.", "Go on.")]))
def test_what_the_student_says_does_not_depend_on_what_it_was_not_told(number, answer, tutor):
    """The same tutor's turns in another world: the untold fact and the answer are others."""
    other = FACTS[1].model_copy(update={"text": f"Ana has {number} pens."})
    elsewhere = TASK.model_copy(update={"facts": (FACTS[0], other), "answer": str(answer), "solution": "-"})
    turns = [Turn(party="partner", text=text) for text in tutor]
    assert says(TASK, turns) == says(elsewhere, turns)


def test_without_people_there_is_no_reference_and_no_task_gives_no_case():
    assert asyncio.run(tutoring.reference(experiment())) == []
    sitting = Sitting(experiment=experiment(), student=Tutor("Go on."), peer=Tutor("Go on."), seed=1, tasks=())
    assert asyncio.run(EXAM.sit(sitting)) == []


def question(n: int) -> str:
    return f"Lou has 5 figs and buys {n} bags of 3. How many figs are there?"


def write(path: Path, *talks: tuple[int, str, str]) -> str:
    """Invented dialogues in MathDial's form, and a row that is none."""
    rows = [
        json.dumps({
            "qid": n, "scenario": 1, "question": question(n), "self-correctness": "Yes",
            "ground_truth": f"3*{n}={3 * n}\n5+{3 * n}={5 + 3 * n}\n {5 + 3 * n}",
            "student_incorrect_solution": f"This is wrong: 5+{n}={5 + n}\n {5 + n}",
            "conversation": "|EOM|".join(turns),
        })
        for n, *turns in talks
    ]  # fmt: skip
    path.write_text("\n".join([*rows, "not a row"]), encoding="utf-8")
    return str(path)


def test_human_teachers_are_counted_as_a_student_would_be(tmp_path, capsys):
    told = (4, "Teacher: (telling)The answer is 17.", "Lou: So there are 17 figs.")
    came = (6, "Teacher: (probing)How many are in the bags?", "Lou: 18 figs, so there are 23 figs.")
    source = {"path": write(tmp_path / "talks.jsonl", told, came)}
    # People's talk is not read with the embedded world's reader, unless somebody names it for that.
    mine = "from pipeline.reading.embedded_world.closed import Closed\n\nREADER = Closed()\n"
    (tmp_path / "mine.py").write_text(mine)
    named = experiment(tutoring=source)
    reading = named.reading.model_copy(update={"metrics": f"{tmp_path / 'mine.py'}:READER"})
    rows = asyncio.run(tutoring.reference(named.model_copy(update={"reading": reading})))
    found = {(row.who, row.metric): (row.value, row.n) for row in rows}
    assert found[tutoring.TEACHERS, "tutor_success_turn1"] == (1.0, 2)
    assert found[tutoring.TEACHERS, "tutor_telling_turn1"] == (0.5, 2)
    assert found[tutoring.TEACHERS, "tutor_reached_turn1"] == (0.5, 2)
    assert found[tutoring.TEACHERS, "tutor_reached_turn1@public"][1] == 0
    assert found[tutoring.REPORTED, "tutor_success"] == (1.0, 2)
    assert "1 rows could not be read" in capsys.readouterr().out


class Hears(Tutor):
    """Keeps what it reads."""

    def __init__(self, *lines: str):
        super().__init__(*lines)
        self.heard = []

    async def complete(self, messages, sampling):
        self.heard.append("\n".join(message["content"] for message in messages))
        return await super().complete(messages, sampling)


def test_a_model_as_student_reads_its_own_wrong_solution_and_no_key(tmp_path):
    numbers = [n for n in range(2, 60) if split_of(question(n)) == "exam"][:3]
    path = write(tmp_path / "talks.jsonl", *((n, "Teacher: Hm?", "Lou: Hm.") for n in numbers))
    source = {"path": path, "most": 2}
    named = experiment(tutoring=source)
    named = named.model_copy(update={"tasks": named.tasks.model_copy(update={"source": "sharded"})})
    tutor, peer = Hears("What is in a bag?"), Hears("Three figs.", "I do not know.")
    found = asyncio.run(EXAM.sit(Sitting(experiment=named, student=tutor, peer=peer, seed=1, tasks=())))
    assert len({case.task for case in found}) == 2 and all(case.hits == 0 for case in found)
    assert all("Worked solution" in text and "is wrong" in text for text in tutor.heard)
    assert all("is wrong" in text and "Worked solution" not in text for text in peer.heard)
    assert EXAM.answers(named, []) == len(tutor.heard) + len(peer.heard) == 2 * 2 * 3 * 2


@pytest.mark.slow
@pytest.mark.timeout(1800)  # 298 talks are read, as far as the figures below look
@pytest.mark.skipif("MAIEUTIC_DATA" not in os.environ, reason="MAIEUTIC_DATA names no folder of corpora")
def test_mathdials_teachers_seldom_tell_and_bare_matching_flatters_their_students(tmp_path):
    lines = (Path(os.environ["MAIEUTIC_DATA"]) / "mathdial/dialogues.jsonl").read_text().splitlines()
    begun = [
        talk | {"conversation": "|EOM|".join(talk["conversation"].split("|EOM|")[:6])}
        for talk in map(json.loads, lines[::2])
    ]
    (tmp_path / "dialogues.jsonl").write_text("\n".join(map(json.dumps, begun)))
    source = {"path": str(tmp_path / "dialogues.jsonl")}
    found = {(r.who, r.metric): r for r in asyncio.run(tutoring.reference(experiment(tutoring=source)))}
    corrected, bare = (found[who, "tutor_success_turn1"] for who in (tutoring.TEACHERS, tutoring.NAIVE))
    assert corrected.n > 75 and corrected.high < bare.low
    assert found[tutoring.TEACHERS, "tutor_telling_turn3"].high < 0.1

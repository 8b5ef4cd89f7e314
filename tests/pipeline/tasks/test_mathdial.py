"""MathDial: human dialogues in our schema."""

import os
from pathlib import Path

import pytest

from pipeline.judging.outcome import attempts
from pipeline.judging.stated_leak import leak_stated
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.view import view
from pipeline.tasks import mathdial
from pipeline.tasks.loading import load_dialogues, load_tasks
from pipeline.tasks.settings import Tasks

HUMAN = Condition(partition="key", voice="human")


def talk(row, *turns, number=10):
    made = row["mathdial"](number)
    return mathdial.dialogue(made | ({"conversation": "|EOM|".join(turns)} if turns else {}), "human", HUMAN, 1)


def test_turns_alternate_moves_leave_the_text_and_every_partner_turn_has_its_move(row):
    dialogue = talk(row)
    assert [turn.party for turn in dialogue.turns] == ["partner", "student"] * 3
    assert dialogue.turns[4].text == "Good.\nSo use it."
    assert dialogue.meta["moves"] == ["probing", "focus", "generic+telling"]
    assert dialogue.stop == "imported"
    assert (dialogue.condition_name, dialogue.seed) == ("human", 1)
    assert dialogue.condition == HUMAN
    assert dialogue.turns[5].text.startswith("Oh.")


def test_what_the_teacher_said_of_the_talk_is_kept_and_the_wrong_solution_is_no_turn(row):
    dialogue = talk(row)
    assert dialogue.meta["self_correctness"] == "Yes"
    assert dialogue.meta["confusion"] == "adds"
    assert dialogue.meta["scenario"] == "1"
    wrong = dialogue.meta["student_incorrect_solution"]
    for party in ("student", "partner"):
        assert all(wrong not in m["content"] for m in view(dialogue.task, HUMAN, dialogue.turns, party))
    assert dialogue.task.wrong_answer == "26"


def test_the_teachers_first_turn_joins_the_students_opening_and_roles_alternate(row):
    dialogue = talk(row)
    student = view(dialogue.task, HUMAN, dialogue.turns, "student")
    assert student[0]["content"].startswith(dialogue.task.question)
    assert student[0]["content"].endswith("\n\nHow did you start?")
    assert [m["role"] for m in student] == ["user", "assistant"] * 3
    partner = view(dialogue.task, HUMAN, dialogue.turns, "partner")
    assert [m["role"] for m in partner] == ["user", "assistant"] * 3 + ["user"]
    assert dialogue.task.solution in partner[0]["content"]
    assert dialogue.task.solution not in student[0]["content"]


def test_the_answers_of_people_are_read_from_closing_sentences(row):
    assert attempts(talk(row)) == [None, "26", None, None, None, "36"]
    assert not leak_stated(talk(row))
    assert leak_stated(talk(row, "Teacher: (telling)Tom and Ana have 36 balls in total.", "Student: Thank you!"))


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        (("Teacher: (probing)Hi", ""), "turn 2"),
        (("Teacher: (probing)Hi", "no speaker"), "turn 2"),
        (("Teacher: (probing)", "Student: Hi"), "turn 1"),
        (("Teacher: (probing)Hi",), "one speaker"),
        (("Student: Hi", "Student: Hello"), "one speaker"),
    ],
)
def test_a_talk_with_a_gap_is_refused_by_its_turn(row, turns, says):
    with pytest.raises(ValueError, match=says):
        talk(row, *turns)


def test_a_turn_without_a_move_is_kept_and_other_brackets_stay(row):
    dialogue = talk(row, "Teacher: (well) hello", "Student: (laughs) Hi: it is 5")
    assert [turn.text for turn in dialogue.turns] == ["(well) hello", "(laughs) Hi: it is 5"]
    assert dialogue.meta["moves"] == [""]


def test_ids_differ_by_talk_scenario_condition_and_seed_and_nothing_else(row):
    base = row["mathdial"](3)
    rows = [base, base | {"scenario": 2}, base | {"conversation": base["conversation"] + " Yes."}]
    ids = [mathdial.dialogue(r, name, HUMAN, seed).id for r in rows for name in ("human", "other") for seed in (1, 2)]
    assert len(set(ids)) == 12
    assert mathdial.dialogue(dict(base), "human", HUMAN, 1).id == ids[0]
    assert mathdial.task(rows[0]).id != mathdial.task(rows[1]).id
    assert mathdial.task(rows[0]).id == mathdial.task(rows[2]).id


def test_dialogues_are_on_train_questions_capped_and_a_repeated_row_is_named(row, write):
    rows = [row["mathdial"](i) for i in range(30)]
    path = write("mathdial", [*rows, rows[0], b"{"])
    settings = Tasks(source="mathdial", path=path, train={"full": 100}, exam={"full": 100})
    dialogues, bad = load_dialogues(settings, "human", HUMAN, 1)
    exam, _ = load_tasks(settings, "exam")
    assert len(dialogues) + len(exam) == 30
    assert not {d.task.question for d in dialogues} & {task.question for task in exam}
    assert [b.where for b in bad] == [f"{path}:31", f"{path}:32"]
    few, _ = load_dialogues(settings.model_copy(update={"train": {"full": 3}}), "human", HUMAN, 1)
    assert few == dialogues[:3]


def test_the_public_file_reconciles_and_is_readable_from_both_sides():
    folder = os.environ.get("MAIEUTIC_DATA")
    if not folder:
        pytest.skip("MAIEUTIC_DATA is not set: the public dialogues are not checked")
    path = Path(folder) / "mathdial" / "dialogues.jsonl"
    dialogues, bad = mathdial.read_dialogues(Tasks(source="mathdial", path=str(path)), "human", HUMAN, 1)
    assert len(dialogues) + len(bad) == len(path.read_text(encoding="utf-8").splitlines())
    for dialogue in dialogues:
        for party in ("student", "partner"):
            roles = [m["role"] for m in view(dialogue.task, HUMAN, dialogue.turns, party)]
            assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
        assert len(dialogue.meta["moves"]) == sum(turn.party == "partner" for turn in dialogue.turns)

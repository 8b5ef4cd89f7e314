"""Tasks as records: what a file may hold, twins, and whose split counts."""

import json
import re
from pathlib import Path

import pytest

from pipeline.tasks import posed
from pipeline.tasks.loading import load_tasks
from pipeline.tasks.settings import Tasks
from pipeline.tasks.split import split_of

COUNTS = {"full": 1000, "underspecified": 1000}


def record(i, **changes):
    """An underspecified record, as one would write it by hand."""
    facts = [f"Hall {i} has 4 doors.", "Each door has 7 locks."]
    question = f"How many locks has hall {i}?"
    return {
        "id": f"mine-{i}",
        "source": "mine",
        "specification": "underspecified",
        "question": question,
        "full_question": " ".join([*facts, question]),
        "facts": [{"id": f"f{n}", "text": text, "public": False} for n, text in enumerate(facts)],
        "answer": "28",
    } | changes


def full(i, **changes):
    whole = record(i)["full_question"]
    return record(i, id=f"full-{i}", specification="full", question=whole, facts=[]) | changes


@pytest.fixture
def read(tmp_path):
    def of(*rows):
        path = tmp_path / "tasks.jsonl"
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return posed.read(Tasks(source="posed", path=str(path)))

    return of


def test_an_underspecified_record_has_a_full_twin_whose_question_states_all(read):
    (lacking, whole), bad = read(record(1))
    assert bad == []
    assert (lacking.specification, len(lacking.missing)) == ("underspecified", 2)
    assert (whole.specification, whole.missing, whole.question) == ("full", (), lacking.full_question)
    assert (whole.answer, whole.split) == (lacking.answer, lacking.split)
    assert lacking.source == whole.source == "posed"  # by which a second source's tasks are known


def test_a_full_record_in_the_file_is_taken_for_the_twin(read):
    tasks, bad = read(record(1), full(1), record(2))
    assert bad == []
    assert [task.id for task in tasks[:3]] == ["mine-1", "full-1", "mine-2"]
    assert [task.specification for task in tasks[3:]] == ["full"] and "2" in tasks[3].question


def test_the_split_is_by_the_full_question_whatever_the_record_says(read):
    tasks, _ = read(*(record(i, split="exam") for i in range(60)))
    assert all(task.split == split_of(task.full_question) for task in tasks)
    assert {task.split for task in tasks} == {"train", "exam"}


def test_the_loader_gives_either_specification_and_the_splits_share_no_question(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(record(i)) + "\n" for i in range(60)))
    settings = Tasks(source="posed", path=str(path), train=COUNTS, exam=COUNTS)
    (train, bad), (exam, _) = (load_tasks(settings, split) for split in ("train", "exam"))
    assert bad == [] and len(train) + len(exam) == 120
    assert not {task.full_question for task in train} & {task.full_question for task in exam}
    assert {task.specification for task in exam} == {"full", "underspecified"}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "not JSON"),
        (record(1, answer=" "), "'answer' is empty"),
        (record(1, answer=28), "'answer' is int"),
        (record(1, colour="red"), "colour: not a key here"),
        (record(1, facts=[{"id": "f0", "text": "", "public": False}]), "facts.0.text"),
        (record(1, facts=[]), "Mark so what the question lacks"),
        (record(1, question=record(1)["full_question"]), "question and full_question are alike"),
        (record(1, full_question="Hall 1 has 4 doors. How many locks has hall 1?"), "it lacks 7, which the withheld"),
        (full(1, question="How many locks?"), "question and full_question are unlike"),
        (record(1, question=record(1)["facts"][0]["text"] + " How many?"), "the question states 'f0' itself"),
        (record(1, specification="sharded"), "specification: 'sharded', expected one of full, underspecified"),
        (record(1, specification="half"), "specification: Input should be"),
        (record(1, wrong_answer="28.0"), "wrong_answer: '28.0' is the answer"),
        (record(1, tests={"entry": "f", "hidden": [{"call": "f(1)", "expected": "1"}]}), "Use the source code"),
        (record(0, question="How many locks?"), "the id 'mine-0' stands in an earlier row"),
        (record(0, id="other"), "the same question stands in an earlier row"),
        (record(0, id="other", answer="29"), "another answer ('28')"),
        (full(0, answer="29"), "another answer ('28')"),
    ],
)
def test_a_row_that_is_no_task_is_a_bad_row_with_its_line_and_reason(read, row, says):
    tasks, bad = read(record(0), row, record(5))
    assert [task.id for task in tasks[:2]] == ["mine-0", "mine-5"]
    assert [line.where.rpartition("/")[2] for line in bad] == ["tasks.jsonl:2"]
    assert says in bad[0].message


def test_a_withheld_fact_that_is_the_beginning_of_a_longer_number_is_not_told(read):
    facts = [{"id": "f0", "text": "Tom has 2.", "public": False}]
    question = "Tom has 20 pounds more than Ann. How many pounds has Tom?"
    _, bad = read(record(1, question=question, full_question=f"{question} Tom has 2.", facts=facts))
    assert bad == []


def test_a_number_at_the_end_of_a_sentence_is_stated_whatever_follows(read):
    facts = [{"id": "f0", "text": "The hall seats 40.", "public": False}]
    question = "Half of the seats are red. How many are?"
    whole = f"The hall seats 40. {question}"
    assert not read(record(1, question=question, full_question=whole, facts=facts, answer="20"))[1]


def test_a_record_without_a_wrong_answer_is_given_one_where_its_answer_is_a_number(read):
    (number, words, *_), _ = read(record(1), record(2, answer="oak"))
    assert number.wrong_answer not in ("", "28") and words.wrong_answer == ""


def test_an_id_that_ends_like_a_twins_is_no_twins(read):
    tasks, bad = read(record(1), record(2, id="mine-1-full"))
    assert bad == [] and len({task.id for task in tasks}) == 4


def test_the_record_that_the_docs_show_is_a_task():
    shown = re.search(r"```json\n(.*)\n```", (Path(__file__).parents[3] / "docs" / "posed.md").read_text())
    assert len(posed.task(json.loads(shown[1])).missing) == 2

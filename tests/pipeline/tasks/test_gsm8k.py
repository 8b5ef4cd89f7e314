"""GSM8K: full problems."""

import json
from hashlib import sha256

import pytest
from datasets import Dataset

from pipeline.core.errors import ConfigError
from pipeline.tasks import gsm8k
from pipeline.tasks.parsing import RowError
from pipeline.tasks.settings import Tasks


def test_a_row_becomes_a_full_task_with_its_gold_and_a_plain_solution(row):
    task = gsm8k.task(row["gsm8k"](10))
    assert task.answer == "36"
    assert task.specification == "full"
    assert task.question == task.full_question
    assert task.solution == "Ana has 2*12 = 24.\nThey have 12+24 = 36."
    assert [fact.text for fact in task.facts] == ["Tom has 12 cakes.", "Ana has twice as many cakes."]
    assert all(fact.public for fact in task.facts)
    assert task.missing == ()


def test_commas_leave_the_gold_and_the_socratic_questions_leave_the_solution(row):
    task = gsm8k.task(row["gsm8k"](0) | {"answer": "How many? ** It is 2*600 = <<2*600=1200>>1,200.\n#### 1,200"})
    assert task.answer == "1200"
    assert task.solution == "It is 2*600 = 1,200."


def test_steps_keep_their_sub_questions_and_the_last_one_says_the_answer(row):
    work = "How many does she buy? ** She buys 2*3=<<2*3=6>>6 pens.\nAnd then? ** So she has 6+1=7."
    steps = gsm8k.task(row["gsm8k"](0) | {"answer": f"{work}\n#### 7"}).steps
    assert [step.question for step in steps] == ["How many does she buy?", "And then?"]
    assert [step.text for step in steps] == ["She buys 2*3=6 pens.", "So she has 6+1=7. The answer is 7."]
    plain = gsm8k.task(row["gsm8k"](10)).steps
    assert [step.question for step in plain] == ["", ""] and plain[0].text == "Ana has 2*12 = 24."


@pytest.mark.parametrize("work", ["The area is 3 ** 2 = 9.", "It is 3 ** 2 = 9.\nSo it is 9.", "(1 + 2) ** 2 = 9."])
def test_a_power_is_no_sub_question(row, work):
    task = gsm8k.task(row["gsm8k"](0) | {"answer": f"{work}\n#### 9"})
    assert task.solution == work and not any(step.question for step in task.steps)


def test_a_sub_question_may_end_with_a_number(row):
    work = "Let x be the pens. ** 2x + 3 = 21\nSubtract 3 ** 2x = 18\nDivide by 2 ** x = 9"
    steps = gsm8k.task(row["gsm8k"](0) | {"answer": f"{work}\n#### 9"}).steps
    assert [step.question for step in steps] == ["Let x be the pens.", "Subtract 3", "Divide by 2"]


def test_a_line_without_a_sub_question_leaves_others_theirs(row):
    work = "How many pens? ** 2 + 3 = 5\nWhat is 2 squared? ** 2 ** 2 = 4\nSo 9."
    task = gsm8k.task(row["gsm8k"](0) | {"answer": f"{work}\n#### 9"})
    assert task.solution == "2 + 3 = 5\n2 ** 2 = 4\nSo 9."
    assert [step.question for step in task.steps] == ["How many pens?", "What is 2 squared?", ""]


@pytest.mark.parametrize(
    ("gold", "number"), [("1,200", "1200"), ("12,34,567", "1234567"), ("$1,200.50", "$1200.50"), ("7,", "7")]
)
def test_commas_before_thousands_are_left_out(row, gold, number):
    assert gsm8k.task(row["gsm8k"](0) | {"answer": f"So it is.\n#### {gold}"}).answer == number


@pytest.mark.parametrize("gold", ["(4, 4)", "Paris, France", "yes, it is"])
def test_a_comma_between_parts_of_an_answer_stays(row, gold):
    assert gsm8k.task(row["gsm8k"](0) | {"answer": f"So it is.\n#### {gold}"}).answer == gold


@pytest.mark.parametrize("gold", ["3,5", "1,2500", "0,25", "1,000,5", "1,234,567,8"])
def test_a_decimal_comma_is_refused_and_not_read_as_another_number(row, gold):
    with pytest.raises(RowError, match="a comma may stand before thousands alone"):
        gsm8k.task(row["gsm8k"](0) | {"answer": f"So it is.\n#### {gold}"})


@pytest.mark.parametrize("answer", ["12", "so it is 12 ####", "#### ", "\n####\n"])
def test_an_answer_without_a_gold_number_is_refused(row, answer):
    with pytest.raises(ValueError, match=r"gold|empty"):
        gsm8k.task(row["gsm8k"](0) | {"answer": answer})


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the data set library's own
def test_a_hub_folder_is_read_in_all_its_splits(row, tmp_path):
    for split, numbers in {"train": range(8), "test": range(8, 12)}.items():
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row["gsm8k"](i)) + "\n" for i in numbers))
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: main\n  data_files:\n  - {split: train, path: train.jsonl}\n"
        "  - {split: test, path: test.jsonl}\n---\n"
    )
    tasks, bad = gsm8k.read(Tasks(source="gsm8k", path=str(tmp_path)))
    assert (len(tasks), bad) == (12, [])


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_folder_that_is_no_data_set_is_an_error_that_names_the_key(tmp_path):
    with pytest.raises(ConfigError, match=r"tasks\.path"):
        gsm8k.read(Tasks(source="gsm8k", path=str(tmp_path)))


def test_a_folder_of_files_that_differ_is_refused_with_why_and_no_word_of_a_network(row, tmp_path):
    for name, more in {"a": {}, "b": {"hint": [1]}}.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row["gsm8k"](1) | more) + "\n")
    with pytest.raises(ConfigError, match=r"^tasks\.path: .* \(Couldn't cast.*\)\..*same fields") as refused:
        gsm8k.read(Tasks(source="gsm8k", path=str(tmp_path)))
    assert "network" not in str(refused.value)


def test_a_data_set_that_was_saved_to_disk_is_read(row, tmp_path):
    Dataset.from_list([row["gsm8k"](i) for i in range(3)]).save_to_disk(str(tmp_path / "saved"))
    tasks, bad = gsm8k.read(Tasks(source="gsm8k", path=str(tmp_path / "saved")))
    assert (len(tasks), bad) == (3, [])


@pytest.mark.parametrize("path", ["data/gsm8k_train.parquet", "data/gsm8k", "nosuch/gsm8k.parquet"])
def test_a_path_that_is_mistyped_is_no_name_of_the_hub(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    with pytest.raises(ConfigError, match=rf"^tasks\.path: '{path}' is not a file\..*JSON Lines.*correct the path"):
        gsm8k.read(Tasks(source="gsm8k", path=path))


def test_whether_a_file_is_a_published_one_is_asked_of_what_it_holds_now(tmp_path, monkeypatch):
    path = tmp_path / "train.jsonl"
    path.write_text("mine")
    assert gsm8k.SOURCE.at_path(str(path)) is not gsm8k.SOURCE
    path.write_text("theirs")
    monkeypatch.setattr(gsm8k, "PUBLISHED", {sha256(b"theirs").hexdigest()})
    assert gsm8k.SOURCE.at_path(str(path)) is gsm8k.SOURCE


def test_a_question_that_comes_again_is_a_bad_row_and_another_answer_to_it_is_said(row, write):
    first, other = row["gsm8k"](0), row["gsm8k"](1)
    tasks, bad = gsm8k.read(
        Tasks(source="gsm8k", path=write("gsm8k", [first, other, first, first | {"answer": "#### 8"}]))
    )
    assert len(tasks) == 2
    assert [line.where.rpartition(":")[2] for line in bad] == ["3", "4"]
    assert "another answer" not in bad[0].message and "another answer" in bad[1].message


def test_a_data_set_without_a_configuration_main_is_read_by_its_own(row, tmp_path):
    (tmp_path / "mine").mkdir()
    for split in ("train", "test"):
        (tmp_path / "mine" / f"{split}.jsonl").write_text(json.dumps(row["gsm8k"](split == "test")) + "\n")
    tasks, bad = gsm8k.read(Tasks(source="gsm8k", path=str(tmp_path / "mine")))
    assert len(tasks) == 2 and not bad

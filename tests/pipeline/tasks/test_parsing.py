"""What all real sources share: bad rows, splits, counts, errors."""

import json
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.core.errors import ConfigError
from pipeline.core.schema import question_hash
from pipeline.knowledge.condition import Condition
from pipeline.reading.numbers.equality import equal
from pipeline.tasks.loading import load_dialogues, load_tasks
from pipeline.tasks.parsing import RowError, json_lines, json_list, wrong_answer
from pipeline.tasks.settings import Tasks

ALL = {"full": 1000}
HUMAN = Condition(partition="key", voice="human")
NEEDED = {
    "gsm8k": ["question", "answer"],
    "sharded": ["question", "answer", "shards"],
    "mathdial": ["qid", "scenario", "question", "ground_truth", "student_incorrect_solution"],
    "posed": ["id", "question", "full_question", "answer"],
    "stepverify": ["problem", "reference_solution", "student_incorrect_solution", "incorrect_index", "incorrect_step"],
}


def both(source, path, counts=ALL):
    """All tasks of both splits, and the bad rows."""
    tasks = Tasks(source=source, path=path, train=counts, exam=counts)
    train, bad = load_tasks(tasks, "train")
    exam, _ = load_tasks(tasks, "exam")
    return train + exam, bad


@given(place=st.integers(0, 5), junk=st.binary(min_size=1, max_size=30).filter(lambda b: b"\n" not in b and b.strip()))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("source", ["gsm8k", "mathdial", "posed"])
def test_a_corrupted_line_is_one_bad_row_that_names_it_and_the_others_survive(source, row, write, place, junk):
    good = [row[source](i) for i in range(6)]
    whole, _ = both(source, write(source, good))
    damaged = [b"{" + junk if i == place else r for i, r in enumerate(good)]
    path = write(source, damaged)
    tasks, bad = both(source, path)
    assert [b.where for b in bad] == [f"{path}:{place + 1}"]
    assert bad[0].message
    lost = question_hash(good[place]["question"])
    assert {t.id for t in tasks} == {t.id for t in whole if question_hash(t.question) != lost}


@given(place=st.integers(0, 3), value=st.sampled_from(["", "  ", None, 3, [], {}, "absent"]), data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("source", list(NEEDED))
def test_a_row_with_a_missing_or_empty_key_is_one_bad_row_that_names_the_key(source, row, write, place, value, data):
    rows = [row[source](i) for i in range(4)]
    key = data.draw(st.sampled_from(NEEDED[source]))
    if value == 3 and key in ("qid", "scenario"):
        return
    rows[place] = rows[place] | {key: value}
    if value == "absent":
        del rows[place][key]
    tasks, bad = both(source, write(source, rows))
    assert len(tasks) == 3
    assert len(bad) == 1
    assert key in bad[0].message
    assert bad[0].where.endswith(f", item {place}" if source in ("sharded", "stepverify") else f":{place + 1}")


@pytest.mark.parametrize("source", list(NEEDED))
def test_a_row_that_is_no_object_is_a_bad_row(source, row, write):
    for other in (7, "text", None, [1], True):
        tasks, bad = both(source, write(source, [row[source](0), other, row[source](1)]))
        assert (len(tasks), len(bad)) == (2, 1)
        assert "expected an object" in bad[0].message


@pytest.mark.parametrize("last", [b"", b"   ", b"\r"])
def test_blank_lines_and_windows_line_ends_are_no_rows(row, write, last):
    lines = [json.dumps(row["gsm8k"](0)).encode() + b"\r", last, json.dumps(row["gsm8k"](1)).encode()]
    tasks, bad = both("gsm8k", write("gsm8k", lines))
    assert (len(tasks), bad) == (2, [])


def test_a_line_separator_inside_a_text_ends_no_row(row, write):
    rows = [row["gsm8k"](0) | {"question": row["gsm8k"](0)["question"] + "\u2028\x0b\x85"}, row["gsm8k"](1)]
    raw = [json.dumps(r, ensure_ascii=False).encode() for r in rows]
    tasks, bad = both("gsm8k", write("gsm8k", raw))
    assert (len(tasks), bad) == (2, [])


def test_a_question_has_one_split_in_every_source_and_the_splits_are_disjoint(row, write):
    splits: dict[str, set[str]] = {}
    for source, make in row.items():
        counts = ALL | ({"sharded": 1000} if source == "sharded" else {})
        tasks, bad = both(source, write(source, [make(i) for i in range(80)]), counts)
        assert bad == []
        for task in tasks:
            splits.setdefault(question_hash(task.full_question), set()).add(task.split)
    assert len(splits) == 80
    assert all(len(found) == 1 for found in splits.values())
    exam = sum(found == {"exam"} for found in splits.values())
    assert 4 <= exam <= 32  # one in five of 80


def test_wording_that_differs_in_case_and_spacing_only_stays_in_one_split(row, write):
    rows = [row["gsm8k"](i) for i in range(30)]
    shouted = [r | {"question": r["question"].upper().replace(" ", "  ")} for r in rows]
    for one, other in zip(rows, shouted, strict=True):
        (a,), _ = both("gsm8k", write("gsm8k", [one]))
        (b,), _ = both("gsm8k", write("gsm8k", [other]))
        assert a.split == b.split


def test_counts_cap_each_specification_and_twins_share_their_questions(row, write):
    path = write("sharded", [row["sharded"](i) for i in range(40)])
    tasks, _ = load_tasks(Tasks(source="sharded", path=path, train={"full": 5, "sharded": 5}), "train")
    assert Counter(task.specification for task in tasks) == {"full": 5, "sharded": 5}
    assert [t.full_question for t in tasks[:5]] == [t.full_question for t in tasks[5:]]
    again, _ = load_tasks(Tasks(source="sharded", path=path, train={"full": 5, "sharded": 5}), "train")
    other, _ = load_tasks(Tasks(source="sharded", path=path, train={"full": 5, "sharded": 5}, seed=1), "train")
    assert again == tasks
    assert other != tasks


def test_half_of_a_character_makes_its_row_bad_and_two_halves_are_one(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"said": "\\ud83d\\ude00"}\n{"said": "\\ud83d"}\n{"said": "\\\\ud83d"}\n')
    whole, half, words = (row for _, row in json_lines(path))
    assert whole == {"said": "\U0001f600"} and words == {"said": "\\ud83d"}
    assert isinstance(half, RowError) and str(half) == "not UTF-8"


def test_half_of_a_character_in_a_list_makes_its_item_bad(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[{"said": "\\ud83d\\ude00"}, {"said": "\\ud83d"}]')
    whole, half = (row for _, row in json_list(path, "sharded", "a list"))
    assert whole == {"said": "\U0001f600"} and isinstance(half, RowError) and str(half) == "not UTF-8"


@pytest.mark.parametrize(
    ("source", "path", "says"),
    [
        ("gsm8k", "", "needs"),
        ("sharded", "nowhere/file.json", "'nowhere/file.json' is not a file"),
        ("mathdial", "$NO_SUCH_VARIABLE/x.jsonl", "environment variable that is not set"),
        ("gsm8k", "gone.jsonl", "is not a file"),
        ("gsm8k", "runs/gone.jsonl", "is not a file"),
        ("sharded", ".", "is not a file"),
    ],
)
def test_a_missing_file_is_an_error_that_names_the_key_and_what_was_looked_for(source, path, says):
    with pytest.raises(ConfigError, match=r"tasks\.path") as error:
        load_tasks(Tasks(source=source, path=path, train=ALL), "train")
    assert says in str(error.value)


@pytest.mark.parametrize("content", ["not JSON", '{"question": 1}', "[[", "3"])
def test_a_sharded_file_that_is_no_list_is_an_error_that_names_the_key(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ConfigError, match=r"tasks\.path"):
        load_tasks(Tasks(source="sharded", path=str(tmp_path / "x.json"), train=ALL), "train")


def test_a_specification_that_a_source_lacks_is_refused_with_those_it_has(row, write):
    path = write("gsm8k", [row["gsm8k"](0)])
    with pytest.raises(ConfigError, match=r"tasks\.train\.underspecified.*It has: full"):
        load_tasks(Tasks(source="gsm8k", path=path), "train")


def test_only_mathdial_has_dialogues(row, write):
    with pytest.raises(ConfigError, match="mathdial"):
        load_dialogues(Tasks(source="gsm8k", path=write("gsm8k", [row["gsm8k"](0)])), "human", HUMAN, 1)


@given(st.integers(-(10**6), 10**6), st.text(max_size=20))
@settings(deadline=None)  # a slow machine is no failure
def test_a_wrong_answer_is_a_number_of_the_same_size_that_differs_from_the_gold(gold, text):
    wrong = wrong_answer(str(gold), text)
    assert not equal(wrong, str(gold))
    assert abs(int(wrong) - gold) <= (10 if abs(gold) < 100 else 100)
    assert wrong == wrong_answer(str(gold), text)


@pytest.mark.parametrize("gold", ["50%", "1/2", "5 apples", "$5", "-3.5", "$1.25"])
def test_what_stands_around_the_number_stands_around_the_wrong_one_too(gold):
    wrong = wrong_answer(gold, "How many?")
    assert re.sub(r"\d+", "", wrong) == re.sub(r"\d+", "", gold)
    assert not equal(wrong, gold)


@pytest.mark.parametrize("gold", ["seven", "inf", "1e400", "12 or 13", ""])
def test_an_answer_that_is_no_number_has_no_wrong_one(gold):
    assert wrong_answer(gold, "How many?") == ""


def test_a_source_of_which_no_task_is_wanted_has_no_bad_rows(row, write):
    path = write("gsm8k", [row["gsm8k"](0), b"{broken"])
    tasks = Tasks(source="gsm8k", path=path, train={}, exam=ALL)
    assert load_tasks(tasks, "train") == ([], [])
    assert len(load_tasks(tasks, "exam")[1]) == 1

"""A record is stored whole or not at all."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import ConfigError
from pipeline.knowledge.condition import Condition
from pipeline.knowledge.records import Dialogue, Failure
from pipeline.runs.store import Appender, StoreError, read, read_ids, rewrite
from pipeline.tasks.parsing import full_task


def failure(i: int, message: str = "why") -> Failure:
    return Failure(id=str(i), task_id="t", condition_name="c", seed=1, kind="bad_task", message=message)


@settings(deadline=None)  # a slow machine is no failure
@given(st.lists(st.text(), min_size=1, max_size=5), st.data())
def test_a_file_cut_at_any_byte_keeps_its_whole_records_and_takes_new_ones(tmp_path_factory, messages, data):
    path = tmp_path_factory.mktemp("store") / "f.jsonl"
    with Appender(path) as file:
        for i, message in enumerate(messages):
            file.append(failure(i, message))
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    survivors = whole[:cut].count(b"\n")
    assert [row.id for row in read(path, Failure)] == [str(i) for i in range(survivors)]
    with Appender(path) as file:
        file.append(failure(99))
    assert [row.id for row in read(path, Failure)] == [*(str(i) for i in range(survivors)), "99"]


def test_a_malformed_line_is_named_with_what_to_do(tmp_path):
    path = tmp_path / "f.jsonl"
    with Appender(path) as file:
        file.append(failure(0))
    path.write_bytes(path.read_bytes() + b'{"id": 3}\n')
    with pytest.raises(StoreError, match=r"f\.jsonl:2: not a Failure.*Delete that line"):
        list(read(path, Failure))


def test_ids_alone_are_read_where_the_first_record_is_whole_and_every_line_has_one(tmp_path):
    path = tmp_path / "f.jsonl"
    assert list(read_ids(path, Failure)) == []
    with Appender(path) as file:
        for i in range(3):
            file.append(failure(i))
    whole = path.read_bytes()
    assert list(read_ids(path, Failure)) == ["0", "1", "2"]
    path.write_bytes(whole + b'{"id": "torn"')
    assert list(read_ids(path, Failure)) == ["0", "1", "2"]
    path.write_bytes(whole + b'{"kind": "bad_task"}\n')
    with pytest.raises(StoreError, match=r"f\.jsonl:4: not a Failure: id .*Delete that line"):
        list(read_ids(path, Failure))
    path.write_bytes(b'{"id": "0", "arm": "facts"}\n' + whole)
    with pytest.raises(StoreError, match=r"f\.jsonl:1: not a Failure"):
        read_ids(path, Failure)


def a_dialogue(path: Path, **changes: object) -> Path:
    made = Dialogue(
        id="d",
        task=full_task("t", "1", "Two and two?", "4"),
        condition_name="c",
        condition=Condition(partition="facts"),
        seed=1,
        turns=(),
        stop="turn_cap",
    )
    path.write_text(json.dumps(made.model_dump(mode="json") | changes) + "\n")
    return path


def test_a_line_whose_partition_lies_elsewhere_is_sound_and_not_to_be_deleted(tmp_path):
    path = a_dialogue(tmp_path / "f.jsonl", condition={"partition": "my_row.py:ROW"})
    with pytest.raises(ConfigError, match=r"f\.jsonl:1: 'my_row\.py:ROW'.*call from the folder") as told:
        list(read(path, Dialogue))
    assert "Delete" not in str(told.value) and ".." not in str(told.value)


def test_a_line_of_an_earlier_version_is_named_as_such(tmp_path):
    path = a_dialogue(tmp_path / "f.jsonl", condition="c", axes={"partition": "facts"})
    with pytest.raises(StoreError, match="earlier version of maieutic: begin in another `out`") as told:
        list(read(path, Dialogue))
    assert "Delete" not in str(told.value)


def test_a_missing_file_holds_no_records(tmp_path):
    assert list(read(tmp_path / "none.jsonl", Failure)) == []


def test_rewriting_replaces_all_at_once(tmp_path):
    path = tmp_path / "f.jsonl"
    rewrite(path, [failure(1), failure(2)])
    rewrite(path, [failure(3)])
    assert [row.id for row in read(path, Failure)] == ["3"] and [p.name for p in tmp_path.iterdir()] == ["f.jsonl"]

"""pipeline.core.files: a file is whole, the old one or the new one, whatever happens while it is written."""

import pytest

from pipeline.core.files import remove_left, write_first, write_whole, written_whole


def test_a_file_is_replaced_at_once_and_its_folder_is_made(tmp_path):
    path = tmp_path / "a" / "b.txt"
    assert write_whole(path, "one") == path and write_whole(path, "two").read_text() == "two"
    assert [file.name for file in path.parent.iterdir()] == ["b.txt"]


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_whole(tmp_path / "a.txt", "old")
    with pytest.raises(ZeroDivisionError), written_whole(path) as temporary:
        temporary.write_text("half")
        assert path.read_text() == "old"
        1 / 0  # noqa: B018
    assert path.read_text() == "old" and [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_two_who_write_the_same_file_at_once_do_not_meet(tmp_path):
    path = tmp_path / "a.txt"
    with written_whole(path) as one, written_whole(path) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one" and [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_what_a_kill_left_is_removed_and_nothing_else(tmp_path):
    with written_whole(tmp_path / "b" / "a.txt") as temporary:
        temporary.write_text("whole")
    temporary.write_text("half of what an earlier process wrote")
    remove_left(tmp_path)
    assert [file.name for file in tmp_path.rglob("*.*")] == ["a.txt"]


def test_of_several_first_writers_one_is_whole_and_stays(tmp_path):
    path = tmp_path / "a.txt"
    write_first(path, "first")
    write_first(path, "second")
    assert path.read_text() == "first" and [file.name for file in tmp_path.iterdir()] == ["a.txt"]

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from datasets import Dataset, DatasetDict
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import ConfigError
from pipeline.core.schema import Turn
from pipeline.tasks.talks import Talk, TalkSource, load_source, read_talks

ROOT = Path(__file__).parents[3]
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Ann has 3 pens and buys 4. How many has she?"},
    {"role": "assistant", "content": "The answer is 7."},
]
SAID = (Turn(party="partner", text=CHAT[1]["content"]), Turn(party="student", text="The answer is 7."))


def written(tmp_path: Path, *rows: Any) -> str:
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def only(source: TalkSource) -> Talk:
    talks, bad = read_talks(source)
    assert not bad
    (talk,) = talks
    return talk


def test_chat_rows_are_read_without_a_description(tmp_path: Path) -> None:
    talk = only(load_source(written(tmp_path, {"messages": CHAT})))
    assert talk.turns == SAID and talk.question == SAID[0].text
    assert (talk.id, talk.split, talk.learn) == ("talks.jsonl:1", "all", None)


def test_roles_can_be_turned_round_on_the_command_line(tmp_path: Path) -> None:
    path = written(tmp_path, {"messages": CHAT})
    talk = only(load_source(path, ("roles.assistant=partner", "roles.user=student")))
    assert [turn.party for turn in talk.turns] == ["student", "partner"]


def test_parquet_json_and_saved_datasets_give_the_same_talk(tmp_path: Path) -> None:
    rows = [{"messages": CHAT}]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "one.parquet")
    (tmp_path / "two.json").write_text(json.dumps({"data": {"a": rows[0]}}))
    Dataset.from_list(rows).save_to_disk(str(tmp_path / "three"))
    found = [
        only(TalkSource(files={"all": str(tmp_path / name)}, rows=key))
        for name, key in (("one.parquet", ""), ("two.json", "data"), ("three", ""))
    ]
    assert [talk.turns for talk in found] == [SAID] * 3


def test_talks_of_several_files_are_of_their_keys_and_no_two_have_one_place(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Dataset.from_list([{"messages": CHAT}]).save_to_disk(tmp_path / name)
        (tmp_path / f"in_{name}").mkdir()
        (tmp_path / f"in_{name}" / "talks.jsonl").write_text(json.dumps({"messages": CHAT}) + "\n")
    parted = DatasetDict({part: Dataset.from_list([{"messages": CHAT}]) for part in ("old", "new")})
    parted.save_to_disk(tmp_path / "parted")
    places = {
        "train": "a", "test": "b", "more": "in_a/talks.jsonl", "most": "in_b/talks.jsonl", "own": "parted"
    }  # fmt: skip
    talks, bad = read_talks(TalkSource(files={key: str(tmp_path / place) for key, place in places.items()}))
    assert not bad and len({talk.id for talk in talks}) == len(talks) == 6
    assert [talk.split for talk in talks] == ["train", "test", "more", "most", "own/old", "own/new"]
    alone, _ = read_talks(TalkSource(files={"all": str(tmp_path / "parted")}))
    assert [talk.split for talk in alone] == ["old", "new"]


def test_one_text_with_names_and_labels_becomes_turns(tmp_path: Path) -> None:
    row = {"talk": "Teacher: (hint)Try again.|EOM|\n|EOM|Mia: It is 5.|EOM|", "work": "3 + 2\n 5", "q": "3 and 2?"}
    source = TalkSource(
        files={"all": written(tmp_path, row)}, turns=("talk",), separator="|EOM|", strip=r"\((?:hint|tell)\)",
        roles={"*": "student"}, question="Q: {q}", answer="{work}", gold=r"\n\s*(\d+)\s*$", partition="key",
    )  # fmt: skip
    talk = only(source)
    assert talk.turns == (Turn(party="partner", text="Try again."), Turn(party="student", text="It is 5."))
    assert (talk.question, talk.answer, talk.partition) == ("Q: 3 and 2?", "5", "key")


def test_a_zero_is_an_answer_and_what_is_not_there_is_none(tmp_path: Path) -> None:
    rows = [{"id": 0, "gold": 0, "messages": CHAT}, {"id": None, "gold": None, "messages": CHAT}]
    source = TalkSource(files={"all": written(tmp_path, *rows)}, id="{id}", answer="{gold}")
    talks, _ = read_talks(source)
    assert [talk.answer for talk in talks] == ["0", ""] and talks[0].id == "0"


def test_content_in_parts_is_their_text_and_a_developer_is_no_party(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "x"}}]
    rows = [{"role": "developer", "content": "Be kind."}, {"role": "user", "content": parts}]
    thought = [{"type": "reasoning", "text": "He wants to know it."}, {"type": "output_text", "text": "A cat."}]
    rows.append({"role": "assistant", "content": thought})
    talk = only(TalkSource(files={"all": written(tmp_path, {"messages": rows})}))
    assert [turn.text for turn in talk.turns] == ["What is it?", "A cat."]


def test_bare_texts_alternate_and_fields_are_joined(tmp_path: Path) -> None:
    row = {"past": ["What is it?", "A cat."], "next": ["No."]}
    source = TalkSource(
        files={"all": written(tmp_path, row)}, turns=("past", "next"), speakers=("tutor", "student"), meta=("next",)
    )
    talk = only(source)
    assert [turn.party for turn in talk.turns] == ["partner", "student", "partner"]
    assert talk.meta == {"next": ["No."]}


@pytest.mark.parametrize("row", [
    {"messages": [turn | {"train": turn["role"] == "assistant"} for turn in CHAT]},
    {"messages": CHAT, "train": [0, 0, 1]},
])  # fmt: skip
def test_a_mask_stays_with_its_turns_when_a_system_message_is_dropped(tmp_path: Path, row: Any) -> None:
    assert only(TalkSource(files={"all": written(tmp_path, row)}, learn="train")).learn == (False, True)


@pytest.mark.parametrize(("row", "reason"), [
    ([], "expected an object"),
    ({}, "'messages' is missing"),
    ({"messages": []}, "no turns"),
    ({"messages": "hello"}, "does not begin with 'Name: '"),
    ({"messages": ["hello"]}, "set role and text"),
    ({"messages": [{"role": "narrator", "content": "Once"}]}, "set roles.narrator"),
    ({"messages": [{"role": "user", "content": 3}]}, "and the text 'content'"),
    ({"messages": CHAT, "train": [1]}, "a value for each of 3 turns"),
])  # fmt: skip
def test_a_row_that_does_not_fit_is_a_bad_row_with_its_place_and_the_others_stay(
    tmp_path: Path, row: Any, reason: str
) -> None:
    good = {"messages": CHAT, "train": [0, 0, 1]}
    talks, bad = read_talks(TalkSource(files={"all": written(tmp_path, good, row, good)}, learn="train"))
    assert len(talks) == 2
    assert [(one.where.rpartition("/")[2], reason in one.message) for one in bad] == [("talks.jsonl:2", True)]


def test_a_damaged_row_of_any_kind_of_file_is_a_bad_row_and_the_others_stay(tmp_path: Path) -> None:
    (tmp_path / "talks.json").write_bytes(
        json.dumps([{"messages": CHAT}] * 3).encode().replace(b"brief", b"br\xffef", 1)
    )
    texts = pa.array([b"student: Six?", b"student: S\xffx?", b"teacher: Yes."], pa.binary())
    column = pa.Array.from_buffers(pa.string(), 3, texts.buffers())
    parquet.write_table(pa.table({"messages": column}), tmp_path / "talks.parquet")
    for name, first in (("talks.json", "item 0"), ("talks.parquet", "row 1")):
        talks, bad = read_talks(load_source(str(tmp_path / name)))
        assert len(talks) == 2
        assert [(one.where, one.message) for one in bad] == [(f"{name}, {first}", "not UTF-8")]


def test_a_gold_pattern_whose_group_is_not_met_is_a_bad_row(tmp_path: Path) -> None:
    rows = [{"messages": CHAT, "answer": answer} for answer in ("#### 6", "####")]
    talks, bad = read_talks(TalkSource(files={"all": written(tmp_path, *rows)}, answer="{answer}", gold="####( .+)?"))
    assert [talk.answer for talk in talks] == ["6"]
    assert "its group" in bad[0].message


@given(st.lists(st.one_of(st.none(), st.text(), st.dictionaries(st.sampled_from(["messages", "x"]), st.text()))))
def test_rows_in_are_talks_plus_bad_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    talks, bad = read_talks(load_source(written(tmp_path_factory.mktemp("rows"), *rows)))
    assert len(talks) + len(bad) == len(rows)


@pytest.mark.parametrize(("text", "reason"), [
    ("file: {}", "Known: files"),
    ("partition: teacher", "not a partition"),
    ("strip: '('", "no regular expression"),
    ("strip: '(?i)student: '", "no regular expression"),
    ("gold: '#### [0-9]+'", "has no group"),
    ("audit: {reads: nope}", "'nope' is no reader of turns"),
    ("answer: gold", "same text in every row. Of the field 'gold' write '{gold}'"),
    ("question: '{gold'", "write '{gold}'"),
    ("- 1", "expected a mapping"),
])  # fmt: skip
def test_a_description_that_cannot_be_used_says_why(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "source.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(reason)):
        load_source(str(path))


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        read_talks(load_source("nowhere.jsonl"))


@pytest.mark.parametrize(("name", "count"), [("mathdial", 298), ("cima", 1135), ("bridge", 490)])
def test_published_sets_are_read_whole(name: str, count: int) -> None:
    if not os.environ.get("MAIEUTIC_DATA"):
        pytest.skip("MAIEUTIC_DATA is not set: the descriptions of the published sets are not checked")
    talks, bad = read_talks(load_source(str(ROOT / f"configs/audit_{name}.yaml")))
    assert (len(talks), bad) == (count, [])
    assert all(talk.texts("student") and talk.texts("partner") for talk in talks)


@pytest.mark.parametrize("target", ["nosuch", "runs/nosuch"])
def test_a_target_that_is_nowhere_is_refused_at_once_with_what_is_expected(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(ConfigError, match=rf"^{target}: .* a run directory.*audit_cima.*OWNER/NAME"):
        load_source(target)


def test_a_description_that_ships_is_found_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_source("audit_cima").rows == "prepDataset"
    with pytest.raises(ConfigError, match="Audit its run"):
        load_source("quickstart")


def test_the_hub_is_asked_for_no_bare_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("files: {train: nosuch}")
    with pytest.raises(ConfigError, match=r"^files\.train: 'nosuch' is no file or folder"):
        read_talks(load_source("mine.yaml"))

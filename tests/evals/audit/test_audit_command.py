"""What the command says of data, descriptions and settings that cannot be used, and where it writes."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rich.console import Console
from typer.testing import CliRunner

from evals.audit import audit_page
from evals.audit.finding import Check, Finding
from evals.stats.intervals import Rate
from maieutic.cli import app
from tests.evals.small_embedder import small_embedder

Call = Callable[..., tuple[int, str]]
CHAT = [{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "A cat."}]
SHAREGPT = {"conversations": [{"from": "human", "value": "What is it?"}, {"from": "gpt", "value": "A cat."}]}


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    embedder = small_embedder()

    def audit(target: str, *sets: str) -> tuple[int, str]:
        """Status, and all that was printed in one line."""
        changes = [f"--set={one}" for one in (f"audit.embedder={embedder}", "audit.reads=closed", *sets)]
        result = CliRunner().invoke(app, ["audit", target, *changes])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, " ".join(result.output.split())

    return audit


def write(name: str, *rows: Any) -> str:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("".join(json.dumps(one) + "\n" for one in rows))
    return name


@pytest.mark.parametrize("sets", [(), ("roles={human: partner, gpt: student}",), ("text=value",)])
def test_sharegpt_rows_are_read_without_a_description(call: Call, sets: tuple[str, ...]) -> None:
    status, told = call(write("chat.jsonl", *[SHAREGPT] * 3), *sets)
    assert "3 dialogues" in told and status == 1  # they are the same one
    assert json.loads(Path("runs/audit/chat/audit.json").read_text())["bad_rows"] == 0


@pytest.mark.parametrize(("rows", "sets", "expected"), [
    ([{"chat": CHAT, "id": 1}], (), ["found chat, id", "turns", "role", "text"]),
    ([{"messages": [{"who": "a", "said": "b"}]}], (), ["'who', 'said'", "text to its keys"]),
    ([{"messages": [{"role": "narrator", "content": "Once"}]}], (), ["narrator", "set roles.narrator"]),
    ([{"messages": CHAT}], ('answer="{nothere}"',), ["answer: 'nothere' is missing", "found messages"]),
    ([{"messages": CHAT}], ("learn=nothere",), ["learn: 'nothere' is a key of no turn"]),
])  # fmt: skip
def test_data_of_which_no_row_fits_are_refused_with_what_was_found_and_what_to_set(
    call: Call, rows: list[Any], sets: tuple[str, ...], expected: list[str]
) -> None:
    status, told = call(write("chat.jsonl", *rows), *sets)
    assert status == 2 and "chat.jsonl:1" in told and not Path("runs").exists()
    assert [part for part in expected if part not in told] == []


def test_files_that_hold_no_rows_of_ours_are_refused(call: Call) -> None:
    Path("latin.jsonl").write_bytes(json.dumps({"messages": "é"}, ensure_ascii=False).encode("latin-1"))
    Path("table.csv").write_text("question,answer\nWhat?,That.\n")
    Path("broken.parquet").write_bytes(b"PAR1 and no more")
    for target, expected in (("latin.jsonl", "not UTF-8"), ("table.csv", "not JSON"), ("broken.parquet", "Parquet")):
        status, told = call(target)
        assert status == 2 and expected in told and target in told


def test_a_folder_of_files_that_differ_and_the_audits_own_folder_are_refused(call: Call) -> None:
    write("mixed/a.jsonl", {"messages": CHAT})
    write("mixed/b.jsonl", {"messages": 3, "other": [1]})
    status, told = call("mixed")
    assert status == 2 and "'mixed' is a folder" in told and "files.all" not in told and "same fields" in told
    call(write("chat.jsonl", {"messages": CHAT}))
    assert call("runs/audit/chat")[0] == 2


def test_a_mask_that_a_row_does_not_have_is_a_bad_row(call: Call) -> None:
    marked = [turn | {"train": turn["role"] == "assistant"} for turn in CHAT]
    status, _ = call(write("chat.jsonl", {"messages": marked}, {"messages": CHAT}), "learn=train")
    stored = json.loads(Path("runs/audit/chat/audit.json").read_text())
    assert status == 1 and (stored["talks"], stored["bad_rows"]) == (1, 1)


@pytest.mark.parametrize(("sets", "expected"), [
    ("audit.known_tests=[nowhere/test.jsonl]", ["audit.known_tests: 'nowhere/test.jsonl' is not a file"]),
    ("audit.known_tests=[$NOWHERE_AT_ALL/test.jsonl]", ["audit.known_tests", "$NOWHERE_AT_ALL", "variable"]),
    ("audit.near=1.5", ["--set audit.near", "less than or equal to 1", "1.5"]),
    ("audit.near=-1", ["--set audit.near", "greater than or equal to 0"]),
    ("audit.embedder=/nowhere", ["audit.embedder: '/nowhere'"]),
    ("audit.reader=/nowhere", ["audit.reader: '/nowhere'"]),
    ("turns=messages", ["--set turns: turns: expected a list", "[messages]"]),
    ("question={question}", ["""--set question: question: expected text""", """--set 'question="{question}"'"""]),
    ("roles={user: studnt}", ["--set roles: roles.user: Input should be 'student', 'partner' or 'none'"]),
    ("turn=[messages]", ["--set turn: turn: not a key here. Did you mean 'turns'"]),
])  # fmt: skip
def test_a_setting_that_cannot_be_used_is_named_with_its_key_and_nothing_is_written(
    call: Call, sets: str, expected: list[str]
) -> None:
    status, told = call(write("chat.jsonl", {"messages": CHAT}), sets)
    assert status == 2 and not Path("runs").exists()
    assert [part for part in expected if part not in told] == []
    assert "chat.jsonl" not in told and told.count("Input should be '") <= 1


def test_an_error_names_the_file_and_one_of_the_command_line_its_key(call: Call) -> None:
    Path("mine.yaml").write_text("files: {all: chat.jsonl}\nturns: messages\n")
    status, told = call("mine.yaml", "audit.near=2")
    assert status == 2 and "mine.yaml: turns: expected a list" in told and "--set audit.near: audit.near" in told


def test_an_experiment_is_no_description_and_its_run_is_named(call: Call) -> None:
    Path("mine.yaml").write_text("name: mine\nconditions: {facts: {partition: facts}}\n")
    status, told = call("mine.yaml")
    assert status == 2 and "this is an experiment" in told and "maieutic audit runs/mine" in told
    assert "not a key" not in told


def test_an_audit_that_would_lie_in_a_file_is_refused_before_it_is_made(call: Call) -> None:
    Path("afile").write_text("mine")
    for out in ("afile", "afile/deeper"):
        status, told = call(write("chat.jsonl", {"messages": CHAT}), f"out={out}")
        assert status == 2 and f"out: {out} cannot be a folder" in told
    assert Path("afile").read_text() == "mine"


def test_an_audit_never_writes_over_that_of_other_data(call: Call) -> None:
    rows = [{"messages": CHAT}]
    assert call(write("chat.jsonl", *rows))[0] == 0
    stored = Path("runs/audit/chat/audit.json")
    first = stored.read_bytes()
    parquet.write_table(pa.Table.from_pylist(rows * 2), "chat.parquet")
    for other in ("chat.parquet", write("old/chat.jsonl", *rows * 2)):
        status, told = call(other)
        assert status == 2 and "holds the audit of chat.jsonl" in told and "--set out=" in told
    assert stored.read_bytes() == first
    Path("mine").mkdir()
    Path("mine/audit.html").write_text("mine")
    status, told = call("chat.jsonl", "out=mine")
    assert status == 2 and "no audit of ours" in told and Path("mine/audit.html").read_text() == "mine"
    assert call("chat.parquet", "out=elsewhere")[0] == 1
    assert json.loads(Path("elsewhere/audit.json").read_text())["talks"] == 2
    for same in ("chat.jsonl", "./chat.jsonl", str(Path("chat.jsonl").absolute())):
        assert call(same)[0] == 0


def test_an_audit_that_could_check_little_says_so_and_which_keys_would_tell_more(call: Call) -> None:
    status, told = call(write("chat.jsonl", {"messages": CHAT}))
    assert status == 0 and "2 of 11 checks could be made; none of them failed" in told
    for asked in ("answer (knowledge, partner,", "split (contamination)", "learn (masks)", "partition (partner)"):
        assert asked in told
    marked = [turn | {"train": turn["role"] == "assistant"} for turn in CHAT]
    assert "learn (masks)" not in call(write("chat.jsonl", {"messages": marked}), "learn=train")[1]


def test_a_check_without_a_finding_has_a_row(call: Call) -> None:
    assert audit_page.worst(Check("empty", "", "", ())).verdict == "not testable"


def test_in_80_columns_the_table_breaks_its_last_column_alone() -> None:
    what = "a partner turn changed, or is none that its row can say"
    names = "knowledge", "contamination", "public answer"
    fail = Finding(what=what, verdict="fail", rate=Rate(0.0964, 0.0551, 0.1379, 18600), bar=0.05)
    checks = [Check(name, "", "", (fail,)) for name in names] + [
        Check("balance", "", "", (Finding("student tokens", "not testable"),))
    ]
    out = io.StringIO()
    Console(file=out, width=80).print(audit_page.table(checks))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    for name in names:
        (line,) = [line for line in lines if name in line]
        assert all(part in line for part in ("fail", "0.096 (0.055 to 0.138)", "18600", "0.05", "a partner turn"))
    assert any("not testable" in line and "balance" in line for line in lines)
    assert len(lines) <= 1 + 4 * len(names) + 1


def test_of_a_file_that_is_the_target_no_key_is_named(call: Call) -> None:
    Path("chat.json").write_text("{")
    status, told = call("chat.json")
    assert status == 2 and told.startswith("'chat.json' is not JSON")
